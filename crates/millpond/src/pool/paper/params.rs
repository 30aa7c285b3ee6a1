//! The parameters of the paper's pools ([TP](crate#sources) §3.2 to §3.5, §4.3).
//!
//! Needs the Cargo feature `catalogue`.

pub use super::lock::LockKind;

/// The parameters of the paper's pools. The defaults come from the paper's text or tables.
///
/// ```
/// use millpond::pool::params::{Params, Share};
///
/// let params = Params { queues: 2, share: Share::Half, ..Params::default() };
/// assert_eq!(params.threshold, 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// For `rq1` to `rq3`: the number of queues for each worker, at least 1.
    pub queues: usize,
    /// For `sdq1`: the number of tasks that a worker keeps for itself, at least 4.
    pub threshold: usize,
    /// For `dq8`: when a worker shows its tasks to others.
    pub filling: Filling,
    /// For pools that steal: how much a thief takes at once.
    pub share: Share,
    /// For pools that lock: the kind of lock.
    pub lock: LockKind,
    /// For `sq2`, `dq3` and `dq7`: the number of tasks in a queue's array, at least 1. A full array
    /// is followed by another of this size, which [`Counts::more_arrays`] counts.
    ///
    /// [`Counts::more_arrays`]: crate::pool::Counts::more_arrays
    pub capacity: usize,
}

impl Default for Params {
    fn default() -> Self {
        let (filling, share, lock) = (Filling::Generous, Share::One, LockKind::System);
        Params { queues: 4, threshold: 4, filling, share, lock, capacity: 1024 }
    }
}

/// How a worker fills its public queue ([TP](crate#sources) §3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// The worker keeps its tasks private as long as others find some in its public queue.
    Greedy,
    /// The worker shows all tasks except the block that it works on.
    Generous,
}

/// How many tasks, or blocks of four, a worker takes from another ([TP](crate#sources) §3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One.
    One,
    /// This many, if there are enough.
    Constant(usize),
    /// Half of the queue.
    Half,
    /// As many as there are workers.
    Workers,
}

impl Share {
    /// How many to take after the first, of `len` in all.
    pub(super) fn more(self, len: usize, workers: usize) -> usize {
        let all = match self {
            Share::One => 1,
            Share::Constant(number) => number,
            Share::Half => len.div_ceil(2),
            Share::Workers => workers,
        };
        all.saturating_sub(1)
    }
}
