//! A scope's count of outstanding tasks, and the threads that wait until it falls.
//!
//! Counting costs the owner no read-modify-write, and other workers one for many tasks:
//!
//! 1. The owner (the thread of the scope's body) counts spawns in a plain cell. While the scope is
//!    open, it also counts there the completions that happen on its own thread. For a task that the
//!    owner did not count itself (4), the cells may get only the completion. So their difference
//!    may wrap below 0, but its sum with `word` is right.
//! 2. Other workers collect completions and subtract them from `word`, which starts at `OPEN`. A
//!    worker flushes what it collected before it runs a task of another scope, resumes a body, or
//!    suspends one. It also flushes when it finds no work. So no scope waits only for a completion
//!    that a worker keeps back.
//! 3. `close`: the owner adds its own balance minus `OPEN`. From then on, `word` is the number of
//!    outstanding tasks. The thread that brings `word` to 0 completes the scope. All changes of
//!    `word` form one release sequence, so everything before a completion happens before the scope
//!    is complete.
//! 4. An external task (`runtime::external::tasks`) is counted when it is let in, by the thread
//!    that meets its last precondition. If that thread is the owner, it subtracts one completion
//!    from its cell. If it is a worker with completions of this scope to subtract, it withholds one
//!    of them. Any other thread adds 1 to `word`. A worker withholds no more completions than it
//!    has, so `word` is never less than the number of outstanding tasks. The withheld completion is
//!    not subtracted before the task is let in, so the scope is not complete then.
//! 5. An owner that waits for room in its window stores a waiter and sets `ROOM` in `word`. The
//!    next flush clears `ROOM` in the same step in which it subtracts, and wakes the owner. Both
//!    are in one word, so no wake-up is lost. A worker that did not clear the bit does not touch
//!    the scope again. The owner continues when it has cleared the bit itself or was woken, so the
//!    flushing worker may read `waiter` until then.
//! 6. The last completion may come between the owner's check for room and the bit, and no thread
//!    subtracts after it. So an owner that waits without a second check reads the count before it
//!    checks. If the count is the same after the bit is set, the check still holds, and a
//!    subtraction is still to come. An owner that reads the count later checks for room again after
//!    it has set the bit.
//! 7. A scope is *quiet* (quiescent) if no task is outstanding. Tasks that its admission holds do
//!    not count (4). An owner that waits for that lends its balance to `word`, counts nothing
//!    itself meanwhile, and sets `QUIET`. Either the scope is quiet already, or a thread will
//!    subtract down to `OPEN`. That thread clears the bit in the same step and notifies the owner.
//!    The owner continues when it has cleared the bit itself or was notified.
//! 8. A session has no owner thread: the thread that holds its lock is the owner
//!    (`runtime::session::core`). Several threads and futures may wait for room at once, so a list
//!    replaces `waiter`. Under the lock, each one adds itself to the list and stores in `room_at`
//!    how low `word` must be. Then it sets `ROOM`, and compares the counts as in 6. The subtraction
//!    that reaches `room_at` clears `ROOM`. Its worker notifies the whole list, and each waiter
//!    checks again. The session may end as soon as the worker has subtracted. So a worker that sees
//!    `ROOM` takes a reference to the session before it subtracts. Its own completions are not
//!    counted yet, so the session still exists. With `ROOM` set, another waiter may store another
//!    `room_at` just before the subtraction. So the worker compares again after it. It has read
//!    `word` from that waiter's read-modify-write, or from a later one, so it sees the new
//!    `room_at`.
//! 9. No thread waits for the end of a session. Before the owner closes the session, it puts a
//!    reference to it where the completer finds it. The thread that brings `word` to 0 takes the
//!    reference and ends the session. `ROOM` may still be set then; it is ignored.

use std::cell::Cell;
use std::ptr;

use crate::sync::Guarded;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::worker::wait::Waiter;

#[cfg(all(test, loom))]
mod loom_sessions;
#[cfg(all(test, loom))]
mod loom_tests;

/// The owner's counts; see the [module](self).
#[derive(Debug)]
pub(super) struct OwnerCounts {
    spawned: Cell<u64>,
    finished: Cell<u64>,
    open: Cell<bool>,
}

/// The counts that other threads write; see the [module](self).
#[derive(Debug)]
pub(super) struct Shared {
    word: AtomicU64,
    /// Belongs to the owner, except between setting `ROOM` (or closing) and the owner's wake-up.
    waiter: Guarded<*mut Waiter>,
    /// How low `word` must be for a session to have room; see step 8.
    room_at: AtomicU64,
}

const OPEN: u64 = 1 << 48;
const QUIET: u64 = 1 << 62;
const ROOM: u64 = 1 << 63;
const WATCHED: u64 = QUIET | ROOM;

/// The effects of a subtraction.
#[derive(Debug)]
pub(super) struct Subtracted {
    /// The scope is complete.
    pub(super) complete: bool,
    /// The waiter to wake. In a session, `Some` only means that a caller waits for room.
    pub(super) wake: Option<*mut Waiter>,
    /// The owner waits for quiet, and must be notified.
    pub(super) quiet: bool,
}

impl OwnerCounts {
    pub(super) fn new() -> Self {
        OwnerCounts { spawned: Cell::new(0), finished: Cell::new(0), open: Cell::new(true) }
    }

    /// The number of spawns counted here.
    #[inline]
    pub(super) fn spawned(&self) -> u64 {
        self.spawned.get()
    }

    /// Counts a spawn; returns the number of spawns before it.
    #[inline]
    pub(super) fn count_spawn(&self) -> u64 {
        let before = self.spawned.get();
        self.spawned.set(before + 1);
        before
    }

    /// Counts a completion on the owner's thread, while the scope is open.
    #[inline]
    pub(super) fn count_finished(&self) {
        self.finished.set(self.finished.get().wrapping_add(1));
    }

    /// Counts a task that the owner's thread lets in while the scope is open.
    pub(super) fn count_let_in(&self) {
        self.finished.set(self.finished.get().wrapping_sub(1));
    }

    /// Whether the owner's thread counts its completions here.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open.get()
    }

    /// Whether the body has finished. Called by the body's own thread.
    pub(super) fn is_closed(&self, shared: &Shared) -> bool {
        !self.open.get() && shared.word.load(Ordering::Acquire) & !WATCHED < OPEN
    }

    /// Tasks counted here and not completed here; other workers may have subtracted some (step 1).
    #[inline]
    fn balance(&self) -> u64 {
        self.spawned.get().wrapping_sub(self.finished.get())
    }

    /// The number of tasks that are not complete, as far as the owner knows, while the scope is
    /// open.
    #[inline]
    pub(super) fn outstanding(&self, shared: &Shared) -> u64 {
        let word = shared.word.load(Ordering::Acquire) & !WATCHED;
        self.balance().wrapping_add(word).wrapping_sub(OPEN)
    }

    /// Ends the body's part. Returns true if everything is complete already. Otherwise the thread
    /// that subtracts the last completion completes the scope and takes the waiter.
    pub(super) fn close(&self, shared: &Shared, waiter: Option<&Waiter>) -> bool {
        let here = self.balance();
        self.open.set(false);
        if let Some(waiter) = waiter {
            shared.waiter.set(ptr::from_ref(waiter).cast_mut());
        }
        let add = here.wrapping_sub(OPEN);
        if here == 0 && shared.word.load(Ordering::Acquire) == OPEN {
            // Nothing is outstanding, so no other thread counts: no read-modify-write is needed.
            shared.word.store(0, Ordering::Relaxed);
            return true;
        }
        shared.word.fetch_add(add, Ordering::AcqRel).wrapping_add(add) & !WATCHED == 0
    }

    /// Stops counting here, until `reclaim`; see step 7.
    pub(super) fn lend(&self, shared: &Shared) {
        let here = self.balance();
        self.open.set(false);
        if here != 0 {
            shared.word.fetch_add(here, Ordering::AcqRel);
        }
    }

    /// Counts here again.
    pub(super) fn reclaim(&self) {
        self.finished.set(self.spawned.get());
        self.open.set(true);
    }

    /// Asks that the next subtraction wake the waiter. Returns false if it will not, because fewer
    /// than `seen` tasks are outstanding already. For `seen`, see step 6.
    pub(super) fn watch_for_room(&self, shared: &Shared, waiter: &Waiter, seen: u64) -> bool {
        shared.waiter.set(ptr::from_ref(waiter).cast_mut());
        shared.word.fetch_or(ROOM, Ordering::AcqRel);
        if self.outstanding(shared) == seen {
            return true;
        }
        // The thread that took the bit away wakes, or has woken, the waiter.
        !shared.unwatch_room()
    }

    /// Asks to be notified when at most `limit` tasks are outstanding. `seen` is their number
    /// before the caller's last check. Returns false if fewer are outstanding by now: the caller
    /// must check again. See step 8.
    pub(super) fn ask_for_room(&self, shared: &Shared, seen: u64, limit: u64) -> bool {
        let at = OPEN.wrapping_add(limit).wrapping_sub(self.balance());
        shared.room_at.store(at, Ordering::Relaxed);
        shared.word.fetch_or(ROOM, Ordering::AcqRel);
        self.outstanding(shared) == seen
    }
}

impl Shared {
    pub(super) fn new() -> Self {
        let (word, room_at) = (AtomicU64::new(OPEN), AtomicU64::new(u64::MAX));
        Shared { word, waiter: Guarded::new(ptr::null_mut()), room_at }
    }

    /// Counts a spawn that the owner does not count. Called by the owner or by a task of the scope.
    pub(super) fn count_spawn(&self) {
        self.word.fetch_add(1, Ordering::Relaxed);
    }

    /// Subtracts `count` completions that happened on other workers, or after the owner closed. The
    /// caller wakes or notifies whatever the result names. `wakes_at_end` says whether a waiter
    /// waits for the end.
    ///
    /// The scope may be gone afterwards. There are two exceptions: the result names a waiter or the
    /// owner, or the scope is complete and has no waiter. If a caller waits for room, `keep` is
    /// called first, perhaps more than once (step 8).
    pub(super) fn subtract(
        &self,
        count: u64,
        wakes_at_end: impl FnOnce() -> bool,
        mut keep: impl FnMut(),
    ) -> Subtracted {
        // Acquire, here and where the exchange fails: `keep` reads what the caller that asked for
        // room wrote before.
        let mut old = self.word.load(Ordering::Acquire);
        // One step, not a subtraction and then a read of the bits: after it the scope may be gone.
        let (rest, room, quiet) = loop {
            let rest = (old & !WATCHED) - count;
            let (quiet, asked) = (old & QUIET != 0 && rest == OPEN, old & ROOM != 0);
            if asked {
                keep();
            }
            let room = asked && self.is_room(rest);
            let told = if room { ROOM } else { 0 } | if quiet { QUIET } else { 0 };
            match self.word.compare_exchange_weak(
                old,
                rest | (old & WATCHED & !told),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break (rest, room || (asked && self.is_room(rest)), quiet),
                Err(now) => old = now,
            }
        };
        let complete = rest == 0;
        let wake = room || (complete && wakes_at_end());
        Subtracted { complete, wake: wake.then(|| self.waiter.get()), quiet }
    }

    /// Whether there is room if `word` has this value without its bits.
    #[inline]
    fn is_room(&self, rest: u64) -> bool {
        rest <= self.room_at.load(Ordering::Relaxed)
    }

    /// Asks to notify the owner when the scope is quiet next. Returns whether it is quiet now.
    pub(super) fn watch_for_quiet(&self) -> bool {
        self.word.fetch_or(QUIET, Ordering::AcqRel) & !WATCHED == OPEN
    }

    /// Cancels `watch_for_quiet`. Returns whether the scope is quiet; `None` if a thread notifies,
    /// or has notified, the owner. If the scope was quiet when the owner began to watch and is
    /// quiet now, no task was let in meanwhile. The end of such a task would have notified the
    /// owner.
    pub(super) fn unwatch_quiet(&self) -> Option<bool> {
        let before = self.word.fetch_and(!QUIET, Ordering::AcqRel);
        (before & QUIET != 0).then_some(before & !WATCHED == OPEN)
    }

    /// Cancels `watch_for_room`. Returns false if a thread wakes, or has woken, the waiter.
    pub(super) fn unwatch_room(&self) -> bool {
        self.word.fetch_and(!ROOM, Ordering::AcqRel) & ROOM != 0
    }
}
