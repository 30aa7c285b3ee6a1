//! The task program: plain fork-join, without declared data.

use super::{Params, serial};
use crate::fib;

/// Fibonacci number `n`.
pub fn tasks(n: u64, params: Params) -> u64 {
    if fib::is_leaf(params, n) {
        return serial(n);
    }
    let (a, b) = millpond::join(|| tasks(n - 1, params), || tasks(n - 2, params));
    a + b
}

/// The number of branches run as tasks: two for each number, except leaves.
pub fn count(params: Params) -> u64 {
    fib::count_with(params, 0)
}
