//! Prints a message as one short line, whatever its content.

use std::fmt::Write;

/// The maximum length of a line on stderr in bytes, with its end.
const MAX_BYTES: usize = 512;

/// The replacement for the middle of a too long message.
const CUT: &str = " … ";

const START: &str = "error: ";

/// Prints `message` as an error: one line of at most 512 bytes on stderr.
pub fn error(message: &str) {
    eprintln!("{}", of(message));
}

/// The line without its end. The middle is cut out, because long names or words of a file precede
/// the problem.
fn of(message: &str) -> String {
    let most = MAX_BYTES - START.len() - 1;
    let text = escaped(message);
    if text.len() <= most {
        return format!("{START}{text}");
    }
    let side = (most - CUT.len()) / 2;
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let first = (0..=side).rev().find(is_boundary).unwrap_or(0);
    let last = (text.len() - side..text.len()).find(is_boundary).unwrap_or(text.len());
    format!("{START}{}{CUT}{}", &text[..first], &text[last..])
}

/// The text with Rust's escapes for all characters that move the cursor, colour or reorder text.
fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        let controls = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if controls {
            // Writing to a string cannot fail.
            let _ = write!(all, "{}", c.escape_default());
        } else {
            all.push(c);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_message_stays() {
        assert_eq!(of("größer als `5`: \\ \"x\""), "error: größer als `5`: \\ \"x\"");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(of("a\nb\t\u{1b}[31m\r\u{202e}x\u{7f}"), "error: a\\nb\\t\\u{1b}[31m\\r\\u{202e}x\\u{7f}");
    }

    #[test]
    fn a_long_message_keeps_its_ends() {
        for filler in ["x", "ß", "日", "\u{1b}"] {
            for length in [400, 497, 505, 511, 600, 100_000] {
                let line = of(&format!("file: {}: is too long", filler.repeat(length)));
                assert!(line.len() < MAX_BYTES, "{}", line.len());
                assert!(line.starts_with("error: file: ") && line.ends_with(": is too long"), "{line}");
            }
        }
    }
}
