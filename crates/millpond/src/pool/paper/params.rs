//! What the paper's pools leave open ([TP](crate#sources) §3.2 to §3.5, §4.3).
//!
//! Needs the Cargo feature `catalogue`.

pub use super::lock::LockKind;

/// The parameters of the paper's pools, with the values that its text or its tables name as defaults.
///
/// ```
/// use millpond::pool::params::{Params, Share};
///
/// let params = Params { queues: 2, share: Share::Half, ..Params::default() };
/// assert_eq!(params.threshold, 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Of `rq1` to `rq3`: how many queues there are for each worker, at least 1.
    pub queues: usize,
    /// Of `sdq1`: how many tasks a worker keeps for itself, at least 4.
    pub threshold: usize,
    /// Of `dq8`: when a worker shows its tasks to others.
    pub filling: Filling,
    /// Of those that steal: how much is taken at once.
    pub share: Share,
    /// Of all that lock.
    pub lock: LockKind,
}

impl Default for Params {
    fn default() -> Self {
        let (filling, share, lock) = (Filling::Generous, Share::One, LockKind::System);
        Params { queues: 4, threshold: 4, filling, share, lock }
    }
}

/// How a worker fills its public queue ([TP](crate#sources) §3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Keeps its tasks for itself as long as others find some in its public queue.
    Greedy,
    /// Shows all but the block that it works on.
    Generous,
}

/// How many tasks, or blocks of four, a worker takes from another ([TP](crate#sources) §3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One.
    One,
    /// So many, if there are.
    Constant(usize),
    /// Half of what is there.
    Half,
    /// As many as there are workers.
    Workers,
}

impl Share {
    /// How many are taken after the first, of `len` in all.
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
