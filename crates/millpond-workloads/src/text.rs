//! Numbers and words in messages.

/// A number as a message shows it: it has an exponent if it would be long without one.
///
/// ```
/// use millpond_workloads::text::short;
///
/// assert_eq!((short(0.5), short(1e300), short(-2.5e-9)), ("0.5".to_owned(), "1e300".to_owned(), "-2.5e-9".to_owned()));
/// ```
pub fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() || (1e-5..1e15).contains(&number.abs()) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}
