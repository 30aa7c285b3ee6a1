pub use crate::number::Params;

use crate::form::TASKS;
use crate::number;
use crate::options::Opt;

/// The largest index whose Fibonacci number fits 64 bits.
const MAX_N: u64 = 93;

/// The options of both workloads on Fibonacci numbers.
pub(crate) const SIZES: [Opt; 2] = [
    number::n("Index of the Fibonacci number", (0, MAX_N), 27),
    number::cutoff("Compute numbers up to this index without tasks", MAX_N),
];

/// The options of this workload.
pub const OPTIONS: [Opt; 3] = [SIZES[0], SIZES[1], TASKS];

/// Whether number `n` is computed without tasks.
pub(crate) fn is_leaf(params: Params, n: u64) -> bool {
    n < 2 || n <= params.cutoff
}

/// The number of tasks of number `params.n`. A leaf has `leaf` tasks. Any other number has two,
/// plus its children's.
pub(crate) fn count(params: Params, leaf: u64) -> u64 {
    let (mut before, mut last) = (leaf, leaf);
    for n in 2..=params.n {
        let tasks = if is_leaf(params, n) { leaf } else { before.saturating_add(last).saturating_add(2) };
        (before, last) = (last, tasks);
    }
    last
}
