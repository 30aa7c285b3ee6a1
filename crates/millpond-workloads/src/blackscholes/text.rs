//! Options in PARSEC's text format: the number of options, then one per line.

use super::{Contract, Portfolio, Right};
use crate::{Error, input};
use std::path::Path;

/// The names of a line's fields.
const FIELDS: [&str; 9] =
    ["spot", "strike", "rate", "dividend", "volatility", "time", "type", "dividend-values", "reference-price"];

/// The length of the shortest line: nine words of one letter, and the spaces between them.
const MIN_LINE_BYTES: usize = 17;

/// Parses a whole file of at most `most` options.
pub fn parse(file: &Path, bytes: &[u8], most: u64) -> Result<Portfolio, Error> {
    let refuse = |line: usize, what| Error::Input { file: file.to_owned(), place: format!("line {line}"), what };
    let text = input::without_mark(bytes).map_err(|what| refuse(1, what.to_owned()))?;
    let mut lines = (1..).zip(text.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty());
    let (first, head) = lines.next().ok_or_else(|| refuse(1, "the file is empty".to_owned()))?;
    let count = number_of_options(head, most).map_err(|what| refuse(first, what))?;
    // The announced number may be too large.
    let room = count.min(bytes.len() / MIN_LINE_BYTES);
    let (mut contracts, mut references) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let mut last = first;
    for (number, line) in lines {
        if contracts.len() == count {
            return Err(refuse(number, format!("more than the {count} options of line {first}")));
        }
        let (contract, reference) = option(line).map_err(|what| refuse(number, what))?;
        contracts.push(contract);
        references.push(reference);
        last = number;
    }
    if contracts.len() < count {
        return Err(refuse(last + 1, format!("the file is truncated: {} of {count} options", contracts.len())));
    }
    Ok(Portfolio { contracts, references: Some(references) })
}

fn number_of_options(line: &[u8], most: u64) -> Result<usize, String> {
    let text = text(line)?.trim_ascii();
    let expected = || format!("`{text}` is not the number of options: expected 1..={most}");
    let count: u64 = text.parse().map_err(|_| expected())?;
    match count {
        0 => Err(expected()),
        _ if count > most => Err(format!("{count} options are too many: at most {most}")),
        _ => Ok(count as usize),
    }
}

fn text(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|_| "not text".to_owned())
}

/// An option, and its reference price.
fn option(line: &[u8]) -> Result<(Contract, f64), String> {
    let line = text(line)?;
    let mut words = [""; FIELDS.len()];
    let found = line.split_ascii_whitespace().zip(&mut words).map(|(word, place)| *place = word).count();
    if found < FIELDS.len() || line.split_ascii_whitespace().nth(FIELDS.len()).is_some() {
        let found = line.split_ascii_whitespace().count();
        return Err(format!("expected `{}`, found {found} words", FIELDS.join(" ")));
    }
    let positive = |field| above_zero(FIELDS[field], words[field]);
    let [spot, strike, volatility, time] = [positive(0)?, positive(1)?, positive(4)?, positive(5)?];
    let right = match words[6] {
        "C" => Right::Call,
        "P" => Right::Put,
        other => return Err(format!("type `{other}`: expected C (a call) or P (a put)")),
    };
    [3, 7].into_iter().try_for_each(|field| zero(FIELDS[field], words[field]))?;
    let (rate, reference) = (finite(FIELDS[2], words[2])?, finite(FIELDS[8], words[8])?);
    Ok((Contract { spot, strike, rate, volatility, time, right }, reference))
}

fn finite(field: &str, word: &str) -> Result<f64, String> {
    let number: f64 = word.parse().map_err(|_| format!("{field} `{word}` is not a number"))?;
    if number.is_finite() { Ok(number) } else { Err(format!("{field} `{word}` is not a finite number")) }
}

fn above_zero(field: &str, word: &str) -> Result<f64, String> {
    let number = finite(field, word)?;
    if number > 0.0 { Ok(number) } else { Err(format!("{field} `{word}`: expected a number above 0")) }
}

/// PARSEC reads dividends, but ignores them in the price. Here a dividend is an error, so that no
/// price is silently wrong.
fn zero(field: &str, word: &str) -> Result<(), String> {
    match finite(field, word)? {
        0.0 => Ok(()),
        _ => Err(format!("{field} `{word}`: expected 0, since the formula is that of options without dividends")),
    }
}
