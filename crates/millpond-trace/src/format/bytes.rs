//! Numbers and texts as bytes.

/// Appends a number (LEB128).
#[inline]
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the difference between two numbers (zigzag).
#[inline]
pub(super) fn put_difference(out: &mut Vec<u8>, from: u64, to: u64) {
    let difference = to.wrapping_sub(from) as i64;
    put_number(out, ((difference << 1) ^ (difference >> 63)) as u64);
}

/// Appends a text.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads a payload. Returns `None` if it is too short or invalid.
#[derive(Debug)]
pub(super) struct Bytes<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*first)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub(super) fn difference(&mut self, from: u64) -> Option<u64> {
        let zigzag = self.number()?;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        Some(from.wrapping_add(difference as u64))
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, 1 << 40, u64::MAX - 1, u64::MAX];
        let mut out = Vec::new();
        numbers.iter().for_each(|&n| put_number(&mut out, n));
        for &from in &numbers {
            numbers.iter().for_each(|&to| put_difference(&mut out, from, to));
        }
        let mut bytes = Bytes { rest: &out };
        assert_eq!(numbers.map(|_| bytes.number().unwrap()), numbers);
        for &from in &numbers {
            assert_eq!(numbers.map(|_| bytes.difference(from).unwrap()), numbers);
        }
        assert!(bytes.rest.is_empty() && bytes.number().is_none());
    }

    #[test]
    fn a_number_without_end_is_none() {
        assert_eq!(Bytes { rest: &[0x80; 20] }.number(), None);
    }
}
