//! A queue for each worker, which no other worker reads, and one central queue (TP §3.4, `sdq1`).
//! Tasks beyond a threshold go to the central queue, in blocks of four. Only the central queue has
//! a lock.

use super::super::lock::Guarded;
use super::super::params::Params;
use super::fours::{FOUR, Fours, Spare};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

/// See the [module](self).
pub struct OwnAndCentral {
    central: Guarded<Fours>,
    /// The number of blocks, written under the lock.
    len: AtomicUsize,
    threshold: usize,
}

/// The part of the pool that belongs to one worker.
pub struct Seat {
    /// An array. The threshold is its size.
    tasks: Vec<TaskRef>,
    spare: Spare,
}

// SAFETY: the tasks move with the seat.
unsafe impl Send for Seat {}

impl OwnAndCentral {
    fn with<R>(&self, f: impl FnOnce(&mut Fours) -> R) -> R {
        self.central.with(|blocks| {
            let result = f(blocks);
            self.len.store(blocks.len(), Relaxed);
            result
        })
    }

    /// Moves up to four of the oldest tasks to the central queue.
    #[cold]
    fn give(&self, seat: &mut Seat) -> Found {
        let mut block = seat.spare.take();
        let most = seat.tasks.len().min(FOUR);
        seat.tasks.drain(..most).for_each(|task| block.push(task));
        let was_empty = self.with(|blocks| {
            blocks.push(block);
            blocks.len() == 1
        });
        Found::of_put(was_empty)
    }

    fn looks_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

impl Placement for OwnAndCentral {
    const PARAMS: &'static [&'static str] = &["threshold", "lock"];
    type Seat = Seat;

    fn new(seats: usize, params: &Params) -> (Self, Vec<Seat>) {
        let threshold = params.threshold.max(FOUR);
        let central = Guarded::new(params.lock, Fours::default());
        let seat = |_| Seat { tasks: Vec::with_capacity(threshold), spare: Spare::default() };
        (OwnAndCentral { central, len: AtomicUsize::new(0), threshold }, (0..seats).map(seat).collect())
    }

    #[inline]
    fn put(&self, seat: &mut Seat, task: TaskRef) -> Found {
        let found = if seat.tasks.len() == self.threshold { self.give(seat) } else { Found::Nothing };
        seat.tasks.push(task);
        found
    }

    #[inline]
    fn take(&self, seat: &mut Seat) -> Option<TaskRef> {
        if let Some(task) = seat.tasks.pop() {
            return Some(task);
        }
        if self.looks_empty() {
            return None;
        }
        let mut block = self.with(Fours::pop)?;
        while let Some(task) = block.pop() {
            seat.tasks.push(task);
        }
        // In the order in which they were put: the newest last.
        seat.tasks.reverse();
        seat.spare.keep(block);
        seat.tasks.pop()
    }

    fn take_if(&self, seat: &mut Seat, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if let Some(&newest) = seat.tasks.last() {
            return if wanted(newest) { seat.tasks.pop() } else { None };
        }
        self.with(|blocks| blocks.pop_task_if(wanted))
    }

    fn steal(&self, _seat: &mut Seat) -> Option<TaskRef> {
        None
    }

    fn leave(&self, seat: &mut Seat, _leave: Leave) -> bool {
        let some = !seat.tasks.is_empty();
        while !seat.tasks.is_empty() {
            self.give(seat);
        }
        some
    }

    fn has_work(&self) -> bool {
        !self.looks_empty()
    }
}
