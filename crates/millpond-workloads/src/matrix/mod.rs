//! Dense matrices: storage, tiles, kernels, generators, files.
//!
//! All storage is column-major. A matrix for tasks is cut into contiguous tiles. So a tile of 125 x
//! 125 (125 kB) stays in a core's own cache while a kernel runs.

mod dense;
pub mod generate;
pub mod kernels;
pub mod memory;
pub mod mtx;
pub mod npy;
pub(crate) mod params;
mod tile;

pub use dense::Matrix;
pub(crate) use dense::power;
pub use tile::{Grid, Tile, default_tile};

use crate::{Error, input};
use memory::Needs;
use std::path::Path;

/// The maximum order of a matrix. Its square, in bytes, is far below the size of the address space.
pub const MAX_N: u64 = 1 << 20;

/// A matrix from a file.
///
/// ```
/// use millpond_workloads::matrix::{Given, Matrix};
///
/// let given = Given { matrix: Matrix::zeros(2, 2), epsilon: f64::EPSILON };
/// assert_eq!(given.matrix.asymmetry(given.epsilon), Ok(0.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Its entries.
    pub matrix: Matrix,
    /// The relative spacing of the numbers in the file: `f32::EPSILON` if they have 32 bits, else
    /// `f64::EPSILON`.
    pub epsilon: f64,
}

/// Reads a matrix, for a job with these needs.
///
/// The file's extension determines the format: `.mtx` (Matrix Market) or `.npy` (NumPy). Without an
/// extension, as for `/dev/stdin`, the first bytes do. The file can be a pipe, and compressed by
/// gzip.
///
/// # Errors
///
/// The file cannot be read or has another format, or the job cannot take the matrix.
///
/// ```
/// use millpond_workloads::matrix::{memory::Needs, read};
///
/// let needs = Needs { bytes_per_entry: 8, tiled_halves: 0, tasks: |_| 0 };
/// assert!(read("no/such.mtx".as_ref(), needs).is_err());
/// ```
pub fn read(file: &Path, needs: Needs) -> Result<Given, Error> {
    let named = Format::of_name(file).map_err(|flaw| flaw.of(file))?;
    let mut bytes = input::bytes(file)?;
    if input::is_gzip(&bytes) {
        bytes = input::unpacked(&bytes).map_err(|what| Flaw::new("gzip", what).of(file))?;
    }
    let parsed = match named.map_or_else(|| Format::of_bytes(&bytes), Ok) {
        Ok(Format::MatrixMarket) => {
            let matrix = mtx::parse(&bytes, needs.most_order());
            matrix.map(|matrix| Given { matrix, epsilon: f64::EPSILON })
        }
        Ok(Format::NumPy) => npy::parse(&bytes, needs.most_order()),
        Err(flaw) => Err(flaw),
    };
    parsed.map_err(|flaw| flaw.of(file))
}

/// The format of a matrix file.
enum Format {
    MatrixMarket,
    NumPy,
}

impl Format {
    /// The format by the extension, without `.gz`; `None` without an extension.
    fn of_name(file: &Path) -> Result<Option<Self>, Flaw> {
        let ending = |file: &Path| file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let inner = match ending(file) {
            Some(gz) if gz == "gz" => file.file_stem().and_then(|stem| ending(Path::new(stem))),
            other => other,
        };
        match inner.as_deref() {
            None => Ok(None),
            Some("mtx") => Ok(Some(Self::MatrixMarket)),
            Some("npy") => Ok(Some(Self::NumPy)),
            Some(_) => {
                let what = "the ending must be .mtx (Matrix Market) or .npy (NumPy), and .gz may follow";
                Err(Flaw::new("name", what))
            }
        }
    }

    /// The format by the first bytes.
    fn of_bytes(bytes: &[u8]) -> Result<Self, Flaw> {
        let text = input::without_mark(bytes).map_err(|what| Flaw::byte(0, what))?;
        if bytes.starts_with(npy::MAGIC) {
            Ok(Self::NumPy)
        } else if text.get(..14).is_some_and(|head| head.eq_ignore_ascii_case(b"%%MatrixMarket")) {
            Ok(Self::MatrixMarket)
        } else {
            Err(Flaw::byte(0, "neither a Matrix Market file nor a NumPy file"))
        }
    }
}

/// A flaw of an input, and its place. The caller adds the file's name.
#[derive(Debug, PartialEq)]
pub struct Flaw {
    place: String,
    what: String,
}

impl Flaw {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }

    fn line(number: usize, what: impl Into<String>) -> Self {
        Self::new(format!("line {number}"), what)
    }

    fn byte(offset: usize, what: impl Into<String>) -> Self {
        Self::new(format!("byte {offset}"), what)
    }

    /// The flaw as an error about `file`.
    pub fn of(self, file: &Path) -> Error {
        Error::Input { file: file.to_owned(), place: self.place, what: self.what }
    }
}

/// An integer as an entry, unless this would round it.
fn exact(integer: i128) -> Result<f64, String> {
    if integer.unsigned_abs() <= 1 << 53 {
        Ok(integer as f64)
    } else {
        Err(format!("{integer} would be rounded: integers are read up to 2^53"))
    }
}

/// Checks a declared shape: it must be square, not empty, and of order `most` at most.
fn square(rows: u64, cols: u64, most: u64) -> Result<usize, String> {
    if rows != cols {
        return Err(format!("the matrix is not square: {rows} x {cols}"));
    }
    if rows == 0 {
        return Err("the matrix is empty: 0 x 0".to_owned());
    }
    if rows > MAX_N {
        return Err(format!("the matrix is too large: order {rows}, at most {MAX_N}"));
    }
    if rows > most {
        return Err(format!("the matrix is too large: order {rows}, at most {most} with the memory available"));
    }
    usize::try_from(rows).map_err(|e| e.to_string())
}
