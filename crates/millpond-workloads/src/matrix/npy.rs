//! NumPy's `.npy` files, versions 1 to 3: floats and integers of any width, byte order and memory
//! order.

use super::{Flaw, Given, Matrix, exact, square};
use crate::{Error, output};
use std::io::Write;
use std::path::Path;

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Parses a whole file with a matrix of at most order `most`.
///
/// ```
/// let mut file = b"\x93NUMPY\x01\x00".to_vec();
/// let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }\n";
/// file.extend([header.len() as u8, 0]);
/// file.extend(header.bytes().chain(2.5_f32.to_le_bytes()));
/// let given = millpond_workloads::matrix::npy::parse(&file, 10)?;
/// assert_eq!((given.matrix.at(0, 0), given.epsilon), (2.5, f64::from(f32::EPSILON)));
/// # Ok::<(), millpond_workloads::matrix::Flaw>(())
/// ```
///
/// # Errors
///
/// If the bytes are no such file, or an integer would be rounded. The error has the offset.
pub fn parse(bytes: &[u8], most: u64) -> Result<Given, Flaw> {
    let (text, text_at, data_at) = header(bytes)?;
    let bad = |what: String| Flaw::byte(text_at, what);
    let descr = field(text, "descr").and_then(quoted);
    let descr = descr.ok_or_else(|| bad("the header has no simple `descr`: expected one number type".to_owned()))?;
    let element = Element::new(descr).map_err(bad)?;
    let fortran = match field(text, "fortran_order") {
        Some(rest) if rest.starts_with("True") => true,
        Some(rest) if rest.starts_with("False") => false,
        _ => return Err(bad("the header has no `fortran_order`".to_owned())),
    };
    let n = shape(text).and_then(|(rows, cols)| square(rows, cols, most)).map_err(bad)?;
    let matrix = entries(&bytes[data_at..], data_at, n, element, fortran)?;
    Ok(Given { matrix, epsilon: element.epsilon() })
}

/// The text of the header, its offset, and the offset of the data.
fn header(bytes: &[u8]) -> Result<(&str, usize, usize), Flaw> {
    if bytes.is_empty() {
        return Err(Flaw::byte(0, "the file is empty"));
    }
    let truncated = || Flaw::byte(bytes.len(), "the file is truncated: it ends in the header");
    if !bytes.starts_with(&MAGIC[..MAGIC.len().min(bytes.len())]) {
        return Err(Flaw::byte(0, "not a NumPy file"));
    }
    let version = *bytes.get(MAGIC.len()).ok_or_else(truncated)?;
    let (length, text_at) = match version {
        1 => bytes.get(8..10).map(|b| (usize::from(u16::from_le_bytes([b[0], b[1]])), 10)),
        2 | 3 => bytes.get(8..12).map(|b| (u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize, 12)),
        other => return Err(Flaw::byte(6, format!("format version {other}: expected 1, 2 or 3"))),
    }
    .ok_or_else(truncated)?;
    let text = bytes.get(text_at..text_at + length).ok_or_else(truncated)?;
    let text = std::str::from_utf8(text).map_err(|_| Flaw::byte(text_at, "the header is not text"))?;
    Ok((text, text_at, text_at + length))
}

/// The text after `'key':` in the header, which is a Python dictionary.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    ['\'', '"'].iter().find_map(|quote| {
        let (_, rest) = text.split_once(&format!("{quote}{key}{quote}"))?;
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    })
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote).map(|(inside, _)| inside)
}

fn shape(text: &str) -> Result<(u64, u64), String> {
    let rest = field(text, "shape").ok_or("the header has no `shape`")?;
    let within = |open, close| rest.strip_prefix(open).and_then(|rest: &str| rest.split_once(close));
    let inside = within('(', ')').or_else(|| within('[', ']'));
    let (inside, _) = inside.ok_or("the `shape` in the header is not a tuple")?;
    let words = inside.split(',').map(str::trim).filter(|word| !word.is_empty());
    // Python 2 writes its long integers with an `L`.
    let sizes: Result<Vec<u64>, _> = words.map(|word| word.strip_suffix('L').unwrap_or(word).parse()).collect();
    match sizes.map_err(|_| format!("`({inside})` is not a shape"))?.as_slice() {
        &[rows, cols] => Ok((rows, cols)),
        other => Err(format!("the array has {} dimensions: expected 2", other.len())),
    }
}

/// The format of a stored number.
#[derive(Clone, Copy)]
struct Element {
    kind: u8,
    size: usize,
    big: bool,
}

impl Element {
    fn new(descr: &str) -> Result<Self, String> {
        let wrong = || format!("entries of type {descr}: expected floats (f4, f8) or integers (i1-i8, u1-u8)");
        let &[order, kind, size] = descr.as_bytes() else { return Err(wrong()) };
        let size = usize::from(size.wrapping_sub(b'0'));
        let known = match kind {
            b'f' => matches!(size, 4 | 8),
            b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
            _ => false,
        };
        let big = match order {
            b'>' => true,
            b'<' | b'|' => false,
            b'=' => cfg!(target_endian = "big"),
            _ => return Err(wrong()),
        };
        if known { Ok(Self { kind, size, big }) } else { Err(wrong()) }
    }

    /// The relative spacing of the numbers; integers are exact.
    fn epsilon(self) -> f64 {
        if (self.kind, self.size) == (b'f', 4) { f32::EPSILON.into() } else { f64::EPSILON }
    }

    /// The number in `bytes`, which are `size` long. An error if an `f64` cannot hold it exactly.
    fn value(self, bytes: &[u8]) -> Result<f64, String> {
        let mut wide = [0u8; 8];
        for (to, from) in wide.iter_mut().zip(0..self.size) {
            *to = bytes[if self.big { self.size - 1 - from } else { from }];
        }
        let raw = u64::from_le_bytes(wide);
        let shift = 64 - 8 * self.size as u32;
        let float = match (self.kind, self.size) {
            (b'f', 4) => f64::from(f32::from_bits(raw as u32)),
            (b'f', _) => f64::from_bits(raw),
            (b'u', _) => return exact(raw.into()),
            _ => return exact(((raw << shift) as i64 >> shift).into()),
        };
        if float.is_finite() { Ok(float) } else { Err(format!("{float} is not a finite number")) }
    }
}

fn entries(data: &[u8], data_at: usize, n: usize, element: Element, fortran: bool) -> Result<Matrix, Flaw> {
    let wanted = n * n * element.size;
    if data.len() != wanted {
        let end = data_at + data.len().min(wanted);
        let state = if data.len() < wanted { "the file is truncated" } else { "the file goes on after its data" };
        return Err(Flaw::byte(end, format!("{state}: {} bytes of data, expected {wanted}", data.len())));
    }
    let mut a = Matrix::zeros(n, n);
    for (k, bytes) in data.chunks_exact(element.size).enumerate() {
        let (i, j) = if fortran { (k % n, k / n) } else { (k / n, k % n) };
        let value = element.value(bytes).map_err(|what| {
            let what = format!("row {}, column {}: {what}", i + 1, j + 1);
            Flaw::byte(data_at + k * element.size, what)
        })?;
        a.put(i, j, value);
    }
    Ok(a)
}

/// Writes a matrix.
pub fn write(file: &Path, a: &Matrix) -> Result<(), Error> {
    output::write(file, |out| fill(out, a))
}

fn fill(out: &mut dyn Write, a: &Matrix) -> std::io::Result<()> {
    let mut text =
        format!("{{'descr': '<f8', 'fortran_order': True, 'shape': ({}, {}), }}", a.rows(), a.cols()).into_bytes();
    // NumPy requires data aligned to 64 bytes, and a newline at the end of the header.
    text.resize((10 + text.len() + 1).next_multiple_of(64) - 11, b' ');
    text.push(b'\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&(text.len() as u16).to_le_bytes())?;
    out.write_all(&text)?;
    a.data().iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        if version == 1 {
            bytes.extend((text.len() as u16).to_le_bytes());
        } else {
            bytes.extend((text.len() as u32).to_le_bytes());
        }
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Matrix, Flaw> {
        parse(bytes, 100).map(|given| given.matrix)
    }

    fn dict(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn reads_every_type_and_order() {
        let numbers = [4i8, 1, 2, 3];
        let c = Matrix::from_columns(2, 2, vec![4.0, 2.0, 1.0, 3.0]);
        let f = Matrix::from_columns(2, 2, vec![4.0, 1.0, 2.0, 3.0]);
        let cases: Vec<(&str, Vec<u8>)> = vec![
            ("<f8", numbers.iter().flat_map(|v| f64::from(*v).to_le_bytes()).collect()),
            (">f8", numbers.iter().flat_map(|v| f64::from(*v).to_be_bytes()).collect()),
            ("<f4", numbers.iter().flat_map(|v| f32::from(*v).to_le_bytes()).collect()),
            (">i4", numbers.iter().flat_map(|v| i32::from(*v).to_be_bytes()).collect()),
            ("<i8", numbers.iter().flat_map(|v| i64::from(*v).to_le_bytes()).collect()),
            (">u2", numbers.iter().flat_map(|v| (*v as u16).to_be_bytes()).collect()),
            ("|i1", numbers.iter().flat_map(|v| v.to_le_bytes()).collect()),
        ];
        for (descr, data) in cases {
            for version in 1..=3 {
                assert_eq!(read(&file(version, &dict(descr, "False", "(2, 2)"), &data)), Ok(c.clone()), "{descr}");
                assert_eq!(read(&file(version, &dict(descr, "True", "(2, 2)"), &data)), Ok(f.clone()), "{descr}");
            }
        }
        // Python 2 writes long integers like this; some writers write a tuple as a list.
        for shape in ["(2L, 2L)", "[2, 2]", "(2,2)"] {
            let file = file(1, &dict("|i1", "False", shape), &[4, 1, 2, 3]);
            assert_eq!(read(&file), Ok(c.clone()), "{shape}");
        }
        let negative = file(1, &dict("<i2", "False", "(1, 1)"), &(-5i16).to_le_bytes());
        assert_eq!(read(&negative), Ok(Matrix::from_columns(1, 1, vec![-5.0])));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let flaw = |bytes: &[u8]| {
            let flaw = read(bytes).expect_err("a flaw");
            format!("{}: {}", flaw.place, flaw.what)
        };
        let ok = dict("<f8", "False", "(2, 2)");
        assert_eq!(flaw(b""), "byte 0: the file is empty");
        assert_eq!(flaw(b"hello"), "byte 0: not a NumPy file");
        assert_eq!(flaw(b"\x93NUM"), "byte 4: the file is truncated: it ends in the header");
        assert_eq!(
            flaw(&file(1, &ok, &[0; 31])),
            format!("byte {}: the file is truncated: 31 bytes of data, expected 32", 10 + ok.len() + 31)
        );
        assert!(flaw(&file(1, &dict("<c16", "False", "(2, 2)"), &[])).contains("entries of type <c16"));
        assert!(flaw(&file(1, &dict("<f8", "False", "(2, 3)"), &[])).contains("not square: 2 x 3"));
        assert!(flaw(&file(1, &dict("<f8", "False", "(4,)"), &[])).contains("1 dimensions"));
        assert!(flaw(&file(1, &dict("<f8", "False", "2"), &[])).ends_with("the `shape` in the header is not a tuple"));
        assert!(flaw(&file(1, &dict("<f8", "False", "(2K, 2)"), &[])).ends_with("`(2K, 2)` is not a shape"));
        let rounded = |data: &[u8], descr: &str| flaw(&file(1, &dict(descr, "False", "(1, 1)"), data));
        let says = |number: &str| format!("row 1, column 1: {number} would be rounded: integers are read up to 2^53");
        let beyond = (1_i64 << 53) + 1;
        assert!(rounded(&beyond.to_le_bytes(), "<i8").ends_with(&says("9007199254740993")));
        assert!(rounded(&(-beyond).to_be_bytes(), ">i8").ends_with(&says("-9007199254740993")));
        assert!(rounded(&u64::MAX.to_le_bytes(), "<u8").ends_with(&says("18446744073709551615")));
        let nan: Vec<u8> = [1.0, f64::NAN, 1.0, 1.0].iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
        let place = 10 + ok.len() + 8;
        assert_eq!(flaw(&file(1, &ok, &nan)), format!("byte {place}: row 1, column 2: NaN is not a finite number"));
    }
}
