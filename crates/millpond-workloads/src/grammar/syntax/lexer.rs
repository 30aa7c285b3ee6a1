//! Turns characters into tokens.

use super::{Fault, Place};

/// A token and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub kind: Kind,
    pub at: Place,
    /// Whether it begins a statement, that is, is in the first column.
    pub begins: bool,
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Number(i64),
    Name(String),
    Symbol(&'static str),
    End,
}

/// Every symbol, longer ones first, and its canonical form.
const SYMBOLS: [(&str, &str); 29] = [
    ("->", "->"),
    ("→", "->"),
    ("==", "=="),
    ("!=", "!="),
    ("≠", "!="),
    ("<=", "<="),
    ("≤", "<="),
    (">=", ">="),
    ("≥", ">="),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
    ("|", "|"),
    (",", ","),
    (":", ":"),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
    ("+", "+"),
    ("-", "-"),
    ("−", "-"),
    ("*", "*"),
    ("·", "*"),
    ("/", "/"),
    ("%", "%"),
    ("×", "*"),
];

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Number(number) => write!(f, "`{number}`"),
            Kind::Name(name) => write!(f, "`{name}`"),
            Kind::Symbol(symbol) => write!(f, "`{symbol}`"),
            Kind::End => write!(f, "the end of the file"),
        }
    }
}

/// All tokens of a text. The last one is its end.
pub fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut last = Place { line: 1, column: 1 };
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.split('#').next().unwrap_or_default();
        let mut column = 1;
        loop {
            let spaces = rest.len() - rest.trim_start().len();
            column += rest[..spaces].chars().count();
            rest = &rest[spaces..];
            last = Place { line: number + 1, column };
            if rest.is_empty() {
                break;
            }
            let (kind, length) = first(rest, last)?;
            tokens.push(Token { kind, at: last, begins: column == 1 });
            column += rest[..length].chars().count();
            rest = &rest[length..];
        }
    }
    tokens.push(Token { kind: Kind::End, at: last, begins: true });
    Ok(tokens)
}

/// The first token of a text, which must begin with one, and its length in bytes.
fn first(text: &str, at: Place) -> Result<(Kind, usize), Fault> {
    let length = |is_part: fn(char) -> bool| text.find(|c| !is_part(c)).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = &text[..length(|c| c.is_ascii_digit())];
        let number = digits.parse().map_err(|_| Fault::new(at, format!("{digits} is more than {}", i64::MAX)))?;
        return Ok((Kind::Number(number), digits.len()));
    }
    if text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        let name = &text[..length(|c| c.is_alphanumeric() || c == '_')];
        return Ok((Kind::Name(name.to_owned()), name.len()));
    }
    match SYMBOLS.iter().find(|(symbol, _)| text.starts_with(symbol)) {
        Some((symbol, means)) => Ok((Kind::Symbol(means), symbol.len())),
        None => {
            let what = text.chars().next().unwrap_or_default();
            Err(Fault::new(at, format!("{what:?} means nothing here")))
        }
    }
}
