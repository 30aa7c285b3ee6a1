//! Numbers and words in messages.

/// A number for a message. It has an exponent if it would be long otherwise.
pub(crate) fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() || (1e-5..1e15).contains(&number.abs()) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_long_number_has_an_exponent() {
        let numbers = [0.0, 0.5, -12.25, 1e-5, 123456789012345.0, 1e15, 1e300, -2.5e-9, 5e-324, f64::MAX, f64::NAN];
        let shown = ["0", "0.5", "-12.25", "0.00001", "123456789012345", "1e15", "1e300", "-2.5e-9", "5e-324"];
        let rest = ["1.7976931348623157e308", "NaN"];
        assert!(numbers.into_iter().map(short).eq(shown.into_iter().chain(rest)));
    }
}
