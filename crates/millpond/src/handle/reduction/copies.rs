//! The copies that the accumulating tasks of a reduction share: about one per worker.
//!
//! A task reuses a copy together with the partial result that it holds, so the runtime applies the
//! operator once per copy and not once per task ([TG](crate#sources) §2.2). A body has its copy
//! alone.
//!
//! 1. A body that needs a copy empties the place of its seat (`take`). If there was a copy, the
//!    body has it. Otherwise it takes one of the free copies. If there is none, it makes a copy and
//!    records it (`record`).
//! 2. A body that needs its copy no more puts it into the place of its seat if that is empty
//!    (`put_back`). Otherwise it adds it to the free copies.
//! 3. The scheme orders the combine task after all bodies. That task takes all copies (`end`).
//!
//! * No two bodies have one copy: step 1 removes it from the only place where it can be found. The
//!   swap acquires what the store of step 2 released, so the later body sees what the earlier one
//!   added.
//! * The seat only selects a place. If two threads select the same place, or a body ends on another
//!   seat, there may be more copies, and no other harm.
//! * A body that never puts its copy back, because it forgot it, loses nothing: the copy was
//!   recorded.

use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use crate::sync::Spinning;
use crate::sync::atomic::{AtomicPtr, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Copies {
    /// Made for the first body, because most reductions have no accumulating task.
    places: OnceLock<Box<[Place]>>,
    /// The seats that have a place of their own: those of workers, and of one caller.
    usual_seats: usize,
    rest: Spinning<Rest>,
}

/// Room for the copy of a seat, on two cache lines of its own: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place(AtomicPtr<()>);

#[derive(Debug, Default)]
struct Rest {
    recorded: Vec<NonNull<()>>,
    free: Vec<NonNull<()>>,
}

// SAFETY: a copy is handed from thread to thread by an atomic or under the lock.
unsafe impl Send for Rest {}

impl Copies {
    /// Copies for this many seats of workers and a caller.
    pub(super) fn new(usual_seats: usize) -> Self {
        Copies { places: OnceLock::new(), usual_seats, rest: Spinning::default() }
    }

    /// The place of a seat. Other seats, such as those of spare threads, share as many further
    /// places: a thread in a usual seat should not wait for a cache line of another.
    fn place(&self, seat: usize) -> &AtomicPtr<()> {
        let usual = self.usual_seats;
        let places = self.places.get_or_init(|| (0..2 * usual).map(|_| Place::default()).collect());
        &places[if seat < usual { seat } else { usual + seat % usual }].0
    }

    /// Step 1.
    pub(super) fn take(&self, seat: usize) -> Option<NonNull<()>> {
        let copy = self.place(seat).swap(ptr::null_mut(), Ordering::Acquire);
        NonNull::new(copy).or_else(|| self.rest.with(|rest| rest.free.pop()))
    }

    /// Step 1, for a new copy. The caller keeps it.
    pub(super) fn record(&self, copy: NonNull<()>) {
        self.rest.with(|rest| rest.recorded.push(copy));
    }

    /// Step 2.
    pub(super) fn put_back(&self, seat: usize, copy: NonNull<()>) {
        let (empty, full) = (ptr::null_mut(), copy.as_ptr());
        if self.place(seat).compare_exchange(empty, full, Ordering::Release, Ordering::Relaxed).is_err() {
            self.rest.with(|rest| rest.free.push(copy));
        }
    }

    /// Step 3. Returns all copies.
    pub(super) fn end(&self) -> Vec<NonNull<()>> {
        self.rest.with(|rest| std::mem::take(&mut rest.recorded))
    }
}
