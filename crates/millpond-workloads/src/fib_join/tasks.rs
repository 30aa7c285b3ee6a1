//! The task program: plain fork-join, no data declared.

use super::{Params, serial};

/// Fibonacci number `n`.
pub fn tasks(n: u64, params: Params) -> u64 {
    if params.is_leaf(n) {
        return serial(n);
    }
    let (a, b) = millpond::join(|| tasks(n - 1, params), || tasks(n - 2, params));
    a + b
}

/// How many branches are run as tasks: two for each number that is not a leaf.
pub fn count(params: Params) -> u64 {
    let (mut before, mut last) = (0u64, 0u64);
    for n in 2..=params.n {
        let tasks = if params.is_leaf(n) { 0 } else { before.saturating_add(last).saturating_add(2) };
        (before, last) = (last, tasks);
    }
    last
}
