//! The serial program.

use super::Params;
use crate::spin::work;

/// Iterations of a node's loop, as in Cilk.
pub(super) const ITERATIONS: u64 = 400;

/// Visits a subtree of at least one level. Returns the number of its nodes.
pub fn serial(params: Params, levels: u64) -> u64 {
    work(ITERATIONS);
    if levels == 1 { 1 } else { 1 + (0..params.k).map(|_| serial(params, levels - 1)).sum::<u64>() }
}
