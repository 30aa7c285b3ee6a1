use crate::options::Opt;

/// The number of initial tasks, and the length of tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// The initial tasks are `A(k - 1)` to `A(0)`.
    pub k: u64,
    /// The factor of all times.
    pub f: u64,
}

/// The maximum number of initial tasks. They make 867 million tasks in total.
const MAX_K: u64 = 40;

pub(super) const K: Opt = Opt::integer("k", "Initial tasks: A(k-1), ..., A(0)", (0, MAX_K), Some(25));
pub(super) const F: Opt = Opt::integer("f", "Length of a task, in hundreds of steps", (0, 1_000_000), Some(40));

/// The options of this workload.
pub const OPTIONS: [Opt; 2] = [K, F];
