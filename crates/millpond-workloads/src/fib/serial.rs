//! The serial program.

/// Fibonacci number `n`, by the recursion of the tasks.
pub fn serial(n: u64) -> u64 {
    if n < 2 { n } else { serial(n - 1) + serial(n - 2) }
}
