//! A scope's data on its external tasks: the counts of tasks held by code outside, and the state of
//! its handle. `runtime::external` makes, holds and lets in these tasks.

use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use super::scope_state::ScopeState;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The first place in reference order of an external task.
const EXTERNAL: u64 = 1 << 62;

/// The position of the seat's bits in a place; the number of the task is below.
const SEAT_SHIFT: u32 = 44;

/// Whether a task with this place in reference order is an external task.
pub(crate) fn is_admission(order: u64) -> bool {
    order >= EXTERNAL
}

/// See `runtime::external::admission`.
#[derive(Debug)]
pub(crate) struct Admission {
    seats: Box<[CachePadded<AtSeat>]>,
    pub(crate) scope_state: NonNull<ScopeState>,
    /// The runtime's `Shared`; `ops` knows its type.
    pub(crate) shared: NonNull<()>,
    /// The runtime's operations on external tasks, a constant. `runtime::external::admission` knows
    /// its type.
    pub(crate) ops: NonNull<()>,
}

// SAFETY: any thread may use a runtime's `Shared`, and the parts of a scope state that are used
// here.
unsafe impl Send for Admission {}
// SAFETY: as above.
unsafe impl Sync for Admission {}

#[derive(Debug, Default)]
struct AtSeat {
    made: AtomicU64,
    let_in: AtomicU64,
}

impl Admission {
    pub(crate) fn new(seats: usize, scope_state: NonNull<ScopeState>, shared: NonNull<()>, ops: NonNull<()>) -> Self {
        Admission { seats: (0..seats).map(|_| CachePadded::default()).collect(), scope_state, shared, ops }
    }

    /// The state of the admission's scope.
    pub(crate) fn scope_state(&self) -> NonNull<ScopeState> {
        self.scope_state
    }

    /// Counts a held task. Returns its place in reference order, after everything that the body
    /// spawns itself.
    #[inline]
    pub(crate) fn count_made(&self, seat: usize) -> u64 {
        EXTERNAL + ((seat as u64) << SEAT_SHIFT) + bump(&self.seats[seat].made)
    }

    /// Counts a task with all preconditions met.
    #[inline]
    pub(crate) fn count_let_in(&self, seat: usize) {
        bump(&self.seats[seat].let_in);
    }

    /// The number of held tasks; see the [module](self).
    pub(crate) fn held(&self) -> u64 {
        let sum =
            |of: fn(&AtSeat) -> &AtomicU64| -> u64 { self.seats.iter().map(|at| of(at).load(Ordering::Acquire)).sum() };
        let let_in = sum(|at| &at.let_in);
        sum(|at| &at.made) - let_in
    }
}

/// Counts without a read-modify-write: only the holder of the seat writes. Returns the count
/// before.
#[inline]
fn bump(counter: &AtomicU64) -> u64 {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before + 1, Ordering::Release);
    before
}

#[cfg(all(test, loom))]
impl Admission {
    /// An admission without a runtime, for models that only count.
    pub(crate) fn unowned(seats: usize) -> Self {
        Self::new(seats, NonNull::dangling(), NonNull::dangling(), NonNull::dangling())
    }
}

/// The shared part of all copies of a scope handle. See `runtime::external::scope_handle`.
#[derive(Debug)]
pub(crate) struct HandleState {
    /// Valid as long as the scope.
    pub(crate) admission: NonNull<Admission>,
    pub(crate) open: Mutex<bool>,
}

// SAFETY: any thread may use an admission.
unsafe impl Send for HandleState {}
// SAFETY: as above.
unsafe impl Sync for HandleState {}
