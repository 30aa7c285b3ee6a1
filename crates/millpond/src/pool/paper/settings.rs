//! What the parts of one pool share: its parameters, and its counters.

use std::sync::Arc;

use super::params::Params;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Handed to each part when it is made.
#[derive(Debug)]
pub struct Settings {
    pub(super) params: Params,
    pub(super) tally: Arc<Tally>,
}

/// Counters that queues increment, rarely.
#[derive(Debug, Default)]
pub struct Tally {
    more_arrays: AtomicU64,
}

impl Settings {
    pub(super) fn new(params: Params) -> Self {
        Settings { params, tally: Arc::default() }
    }
}

impl Tally {
    /// Counts an array beyond the first of its queue.
    pub(super) fn add_array(&self) {
        self.more_arrays.fetch_add(1, Relaxed);
    }

    pub(super) fn more_arrays(&self) -> u64 {
        self.more_arrays.load(Relaxed)
    }
}
