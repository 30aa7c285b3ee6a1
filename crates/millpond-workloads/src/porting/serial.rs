//! The serial program: one chain after the other.

use super::Params;

/// The end of each task's chain.
pub fn serial(params: Params, values: &[u32]) -> Vec<u32> {
    let follow = |task| (0..params.gets).fold(params.first(task), |key, _| values[key as usize]);
    (0..params.tasks).map(follow).collect()
}
