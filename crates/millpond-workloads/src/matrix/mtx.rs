//! Matrix Market files (Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats: Initial
//! Design", NISTIR 5935): dense or sparse, real or integer, general or symmetric.

use super::{Flaw, Matrix, exact, square};
use crate::input;

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Array,
    Coordinate,
}

struct Header {
    layout: Layout,
    integer: bool,
    symmetric: bool,
}

/// Parses a whole file with a matrix of at most order `most`.
pub fn parse(bytes: &[u8], most: u64) -> Result<Matrix, Flaw> {
    let rest = input::without_mark(bytes).map_err(|what| Flaw::line(1, what))?;
    let mut lines = Lines { rest, number: 0 };
    let header = header(&mut lines)?;
    let (number, line) = lines.expect("the size line")?;
    let (n, entries) = sizes(&header, line, most).map_err(|what| Flaw::line(number, what))?;
    match header.layout {
        Layout::Array => array(&mut lines, n, &header),
        Layout::Coordinate => coordinate(&mut lines, n, entries, &header),
    }
}

/// The lines of a file, except empty ones and comments.
struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    fn raw(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|b| *b == b'\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        self.number += 1;
        Some(line.trim_ascii())
    }

    /// The next line that is neither empty nor a comment.
    fn next(&mut self) -> Result<Option<(usize, &'a str)>, Flaw> {
        while let Some(line) = self.raw() {
            if !line.is_empty() && line[0] != b'%' {
                let text = std::str::from_utf8(line).map_err(|_| Flaw::line(self.number, "not text"))?;
                return Ok(Some((self.number, text)));
            }
        }
        Ok(None)
    }

    fn expect(&mut self, what: &str) -> Result<(usize, &'a str), Flaw> {
        let found = self.next()?;
        found.ok_or_else(|| Flaw::line(self.number + 1, format!("the file is truncated: {what} is missing")))
    }

    /// Refuses anything after the last entry.
    fn end(&mut self, entries: u64) -> Result<(), Flaw> {
        match self.next()? {
            None => Ok(()),
            Some((number, _)) => Err(Flaw::line(number, format!("more than the {entries} entries declared"))),
        }
    }
}

fn header(lines: &mut Lines) -> Result<Header, Flaw> {
    let bad = |what: String| Flaw::line(1, what);
    let Some(first) = lines.raw() else { return Err(bad("the file is empty".to_owned())) };
    let text = std::str::from_utf8(first).unwrap_or_default().to_ascii_lowercase();
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    let &["%%matrixmarket", object, layout, field, symmetry] = words.as_slice() else {
        return Err(bad("not a Matrix Market file: expected `%%MatrixMarket matrix LAYOUT FIELD SYMMETRY`".to_owned()));
    };
    if object != "matrix" {
        return Err(bad(format!("a {object}: only a matrix can be read")));
    }
    let layout = match layout {
        "array" => Layout::Array,
        "coordinate" => Layout::Coordinate,
        other => return Err(bad(format!("layout {other}: expected array or coordinate"))),
    };
    if !matches!(field, "real" | "double" | "integer") {
        return Err(bad(format!("entries of type {field}: expected real or integer")));
    }
    let symmetric = match symmetry {
        "general" => false,
        // A Hermitian matrix of real numbers is symmetric.
        "symmetric" | "hermitian" => true,
        other => return Err(bad(format!("symmetry {other}: expected general or symmetric"))),
    };
    Ok(Header { layout, integer: field == "integer", symmetric })
}

/// The order of the matrix, and the number of entries.
fn sizes(header: &Header, line: &str, most: u64) -> Result<(usize, u64), String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is not a size"));
    let counted = |wanted| format!("expected {wanted} sizes, found {}", line.split_ascii_whitespace().count());
    if header.layout == Layout::Coordinate {
        let [rows, cols, entries] = words(line).ok_or_else(|| counted(3))?;
        return Ok((square(number(rows)?, number(cols)?, most)?, number(entries)?));
    }
    let [rows, cols] = words(line).ok_or_else(|| counted(2))?;
    let n = square(number(rows)?, number(cols)?, most)?;
    let n_wide = n as u64;
    Ok((n, if header.symmetric { n_wide * (n_wide + 1) / 2 } else { n_wide * n_wide }))
}

/// The words of a line, if it has exactly this number. The words are not collected, because a line
/// can be as long as the file.
fn words<const WANTED: usize>(line: &str) -> Option<[&str; WANTED]> {
    let mut found = line.split_ascii_whitespace();
    let mut words = [""; WANTED];
    for word in &mut words {
        *word = found.next()?;
    }
    found.next().is_none().then_some(words)
}

impl Header {
    /// The value of a word in line `number`.
    fn value(&self, number: usize, word: &str) -> Result<f64, Flaw> {
        let bad = |what: &str| Flaw::line(number, format!("`{word}` {what}"));
        let value = real(word).ok_or_else(|| bad("is not a number"))?;
        if !value.is_finite() {
            return Err(bad("is not a finite number"));
        }
        if !self.integer {
            return Ok(value);
        }
        match word.parse::<i128>() {
            Ok(integer) => exact(integer).map_err(|what| Flaw::line(number, what)),
            // `4.0` or `4e0`, or more digits than fit 128 bits.
            Err(_) if value.fract() != 0.0 => Err(bad("is not an integer")),
            // From 2^53 on, several integers give this value.
            Err(_) if value.abs() >= (1_u64 << 53) as f64 => Err(bad("would be rounded: integers are read up to 2^53")),
            Err(_) => Ok(value),
        }
    }
}

/// A number. Fortran writes `1.0D+00` for `1.0e+00`.
fn real(word: &str) -> Option<f64> {
    let fortran = || word.replacen(['d', 'D'], "e", 1).parse().ok();
    word.parse().ok().or_else(fortran)
}

fn truncated(lines: &Lines, found: u64, entries: u64) -> Flaw {
    Flaw::line(lines.number + 1, format!("the file is truncated: {found} of {entries} entries"))
}

fn array(lines: &mut Lines, n: usize, header: &Header) -> Result<Matrix, Flaw> {
    let symmetric = header.symmetric;
    let mut a = Matrix::zeros(n, n);
    let entries = if symmetric { n * (n + 1) / 2 } else { n * n } as u64;
    let mut words = "".split_ascii_whitespace();
    let (mut number, mut found) = (0, 0);
    for j in 0..n {
        for i in if symmetric { j } else { 0 }..n {
            let word = loop {
                if let Some(word) = words.next() {
                    break word;
                }
                let line = lines.next()?.ok_or_else(|| truncated(lines, found, entries))?;
                (number, words) = (line.0, line.1.split_ascii_whitespace());
            };
            let entry = header.value(number, word)?;
            found += 1;
            a.put(i, j, entry);
            if symmetric {
                a.put(j, i, entry);
            }
        }
    }
    if words.next().is_some() {
        return Err(Flaw::line(number, format!("more than the {entries} entries declared")));
    }
    lines.end(entries).map(|()| a)
}

fn coordinate(lines: &mut Lines, n: usize, entries: u64, header: &Header) -> Result<Matrix, Flaw> {
    let symmetric = header.symmetric;
    let mut a = Matrix::zeros(n, n);
    let mut seen = vec![0u64; (n * n).div_ceil(64)];
    for found in 0..entries {
        let (number, line) = lines.next()?.ok_or_else(|| truncated(lines, found, entries))?;
        let Some([row, col, word]) = words(line) else {
            let found = line.split_ascii_whitespace().count();
            return Err(Flaw::line(number, format!("expected `row column value`, found {found} words")));
        };
        let (i, j) = (index(number, row, n)?, index(number, col, n)?);
        let entry = header.value(number, word)?;
        let place = if symmetric { i.max(j) * n + i.min(j) } else { i * n + j };
        if seen[place / 64] >> (place % 64) & 1 == 1 {
            return Err(Flaw::line(number, format!("entry ({row}, {col}) is given twice")));
        }
        seen[place / 64] |= 1 << (place % 64);
        a.put(i, j, entry);
        if symmetric {
            a.put(j, i, entry);
        }
    }
    lines.end(entries).map(|()| a)
}

/// A row or column number, counted from 1 in the file, as an index.
fn index(number: usize, word: &str, n: usize) -> Result<usize, Flaw> {
    match word.parse::<usize>() {
        Ok(i) if (1..=n).contains(&i) => Ok(i - 1),
        Ok(i) => Err(Flaw::line(number, format!("index {i} is out of range: expected 1..={n}"))),
        Err(_) => Err(Flaw::line(number, format!("`{word}` is not an index"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> String {
        let flaw = parse(text.as_bytes(), 100).expect_err("a flaw");
        format!("{}: {}", flaw.place, flaw.what)
    }

    #[test]
    fn reads_every_layout() {
        let want = Matrix::from_columns(2, 2, vec![4.0, 1.0, 1.0, 3.0]);
        let texts = [
            "%%MatrixMarket matrix array real general\n2 2\n4\n1\n1\n3\n",
            "%%MatrixMarket matrix array real symmetric\r\n% a comment\r\n\r\n2 2\r\n4\r\n1\r\n3",
            "%%MatrixMarket matrix array integer general\n2 2\n4 1 1 3\n",
            "%%matrixmarket MATRIX coordinate Integer symmetric\n2 2 3\n2 1 1\n1 1 4\n2 2 3\n",
            "\u{feff}%%MatrixMarket matrix array real hermitian\n2 2\n4.0D+00\n1d0\n.3D1\n",
            "%%MatrixMarket matrix array integer general\n2 2\n4.0 1 1e0 3\n",
            "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 4e0\n1 2 1.0\n2 1 1\n2 2 .3e1\n",
        ];
        for text in texts {
            assert_eq!(parse(text.as_bytes(), 100), Ok(want.clone()), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let coordinate = "%%MatrixMarket matrix coordinate real general\n2 2 2\n";
        assert_eq!(flaw(""), "line 1: the file is empty");
        assert_eq!(flaw(coordinate), "line 3: the file is truncated: 0 of 2 entries");
        assert_eq!(flaw(&format!("{coordinate}1 1 nan\n")), "line 3: `nan` is not a finite number");
        assert_eq!(flaw(&format!("{coordinate}1 1 1\n1 1 2\n")), "line 4: entry (1, 1) is given twice");
        assert_eq!(flaw(&format!("{coordinate}0 1 1\n")), "line 3: index 0 is out of range: expected 1..=2");
        assert_eq!(flaw(&format!("{coordinate}1 1 1\n2 2 2\n2 1 2")), "line 5: more than the 2 entries declared");
        let array = "%%MatrixMarket matrix array real general\n";
        let integers = "%%MatrixMarket matrix array integer general\n1 1\n";
        let rounded = |number: &str| format!("line 3: {number} would be rounded: integers are read up to 2^53");
        assert_eq!(flaw(&format!("{integers}9007199254740993")), rounded("9007199254740993"));
        assert_eq!(flaw(&format!("{integers}-9007199254740994")), rounded("-9007199254740994"));
        let long = "9".repeat(50);
        assert_eq!(flaw(&format!("{integers}{long}")), rounded(&format!("`{long}`")));
        assert_eq!(flaw(&format!("{integers}1e300")), rounded("`1e300`"));
        assert_eq!(flaw(&format!("{integers}9007199254740993.0")), rounded("`9007199254740993.0`"));
        assert_eq!(flaw(&format!("{integers}-9007199254740993e0")), rounded("`-9007199254740993e0`"));
        assert_eq!(flaw(&format!("{integers}1.5")), "line 3: `1.5` is not an integer");
        assert_eq!(flaw(&format!("{array}1 1\n1D2D3\n")), "line 3: `1D2D3` is not a number");
        let utf16: Vec<u8> = "\u{feff}%%Matrix".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(parse(&utf16, 100), Err(Flaw::line(1, "UTF-16 text: expected UTF-8")));
        assert_eq!(flaw(&format!("{array}2 3\n")), "line 2: the matrix is not square: 2 x 3");
        assert_eq!(flaw(&format!("{array}0 0\n")), "line 2: the matrix is empty: 0 x 0");
        assert_eq!(flaw(&format!("{array}1 1\nx\n")), "line 3: `x` is not a number");
        let large = "line 2: the matrix is too large: order 101, at most 100 with the memory available";
        assert_eq!(flaw(&format!("{array}101 101\n")), large);
        assert_eq!(flaw(array), "line 2: the file is truncated: the size line is missing");
        let pattern = "%%MatrixMarket matrix coordinate pattern general\n";
        assert_eq!(flaw(pattern), "line 1: entries of type pattern: expected real or integer");
    }
}
