//! Dense matrices: storage, tiles, kernels, generators, files.
//!
//! Everything is column-major. A matrix that tasks work on is cut into tiles, each contiguous, so that a tile of
//! 125 x 125 (125 kB) stays in a core's own cache while a kernel runs.

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

/// The greatest order of a matrix: its square, in bytes, still fits the address space many times over.
pub const MAX_N: u64 = 1 << 20;

/// A matrix from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Its entries.
    pub matrix: Matrix,
    /// The relative spacing of the numbers in the file: `f32::EPSILON` if they have 32 bits, else `f64::EPSILON`.
    pub epsilon: f64,
}

/// Reads a matrix, as Matrix Market or NumPy according to the name's ending, for a job with these needs.
pub fn read(file: &Path, needs: Needs) -> Result<Given, Error> {
    let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let parse = match ending.as_str() {
        "mtx" => |bytes: &[u8], most| Ok(Given { matrix: mtx::parse(bytes, most)?, epsilon: f64::EPSILON }),
        "npy" => npy::parse,
        _ => return Err(Flaw::new("name", "the ending must be .mtx (Matrix Market) or .npy (NumPy)").of(file)),
    };
    let bytes = input::bytes(file)?;
    parse(&bytes, needs.most_order()).map_err(|flaw| flaw.of(file))
}

/// What is wrong with an input, and where; the file's name is added by whoever knows it.
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

/// Whether a declared shape is one that can be held: square, not empty, of order `most` at most.
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
