//! A scope's count of outstanding tasks, and who waits for it to fall.
//!
//! Counting costs the issuer no read-modify-write, and a worker one for many tasks:
//!
//! 1. The owner (the thread of the scope's body) counts spawns in a plain cell, and so the completions that happen on
//!    its own thread while the scope is open. Of a task that it did not count itself (4) only the completion may be
//!    counted there: the difference of the cells may wrap below 0, and is right in sum with `word`.
//! 2. Other workers collect completions and subtract them from `word`, which starts at `OPEN`. A worker flushes
//!    what it collected before it runs a task of another scope, goes on with a body that waited, finds no work, or
//!    suspends. So it never sits on a completion of a scope that waits for nothing else.
//! 3. `close`: the owner adds what it counted minus `OPEN`. From then on `word` is the number of outstanding tasks,
//!    and whoever brings it to 0 completes the scope. All changes of `word` form one release sequence, so what
//!    happened before any completion happens before that.
//! 4. A task that came through a door (`runtime::external::tasks`) is counted when it is let in, by whoever meets its last
//!    precondition: the owner in its cell, as a completion less; a worker that has completions of this scope to
//!    subtract spares one of them; anybody else adds to `word`. The worker spares no more than it has, so `word` is
//!    never less than what is outstanding, and what the spared completion stood for keeps the scope from being
//!    complete until then.
//! 5. The owner that waits for room in its window stores a waiter and sets `ROOM` in `word`; the next flush clears
//!    it in the same step in which it subtracts, and wakes the owner. One word, so no wake-up is lost, and a worker
//!    that did not clear the bit does not touch the scope again. The owner goes on when it has cleared the bit itself
//!    or was woken; so until then the waker may read `waiter`.
//! 6. The last completion may come between the owner's look for room and the bit; then nobody subtracts any more. So
//!    an owner that waits without another look reads the count before it looks: if the count is the same once the bit
//!    is set, what it saw there still holds, and there is a subtraction to come. An owner that counts later looks for
//!    room again when the bit is set.
//! 7. A scope is *quiet*, quiescent, when no task is outstanding but those that its admission hold. The owner that waits for
//!    that lends what it counted to `word`, counts nothing itself meanwhile, and sets `QUIET`. It is quiet already, or
//!    somebody will subtract down to `OPEN`, who clears the bit in the same step and tells the owner. The owner goes on
//!    when it has cleared the bit itself or was told.
//! 8. A session has no owner thread: the thread that holds its lock is the owner (`runtime::session::core`). Several threads and
//!    futures may wait for room at once, so they are in a list, and `waiter` is not used. Under the lock, each puts itself
//!    into the list, stores in `room_at` how low `word` must be, sets `ROOM`, and compares the counts as in 6. The
//!    subtraction that comes down to `room_at` clears `ROOM`; the worker that did it tells the whole list, and each one
//!    looks again. The session may end as soon as the worker has subtracted. So a worker that sees `ROOM` takes a
//!    reference to the session before it subtracts: its own completions are not counted yet, so the session is there.
//!    Another waiter may store another `room_at` just before the subtraction, with `ROOM` set already. So the worker compares
//!    again afterwards: it has read `word` from that one's read-modify-write, or a later one, and sees what was stored.
//! 9. A session ends without a waiter. The owner closes without a waiter, after it has put a reference to the session
//!    where the completer finds it. The thread that brings `word` to 0 takes the reference, and ends the session.
//!    `ROOM` may still be set then: it does not count.

use std::cell::Cell;
use std::ptr;

use crate::sync::Guarded;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::worker::wait::Waiter;

#[cfg(all(test, loom))]
mod loom_sessions;
#[cfg(all(test, loom))]
mod loom_tests;

/// What the owner counts; see the [module](self).
#[derive(Debug)]
pub(super) struct Own {
    spawned: Cell<u64>,
    finished: Cell<u64>,
    open: Cell<bool>,
}

/// What others write; see the [module](self).
#[derive(Debug)]
pub(super) struct Shared {
    word: AtomicU64,
    /// The owner's, except from setting `ROOM` or closing until it is woken.
    waiter: Guarded<*mut Waiter>,
    /// How low `word` must be for a session to have room; see *Counting* 8.
    room_at: AtomicU64,
}

const OPEN: u64 = 1 << 48;
const QUIET: u64 = 1 << 62;
const ROOM: u64 = 1 << 63;
const WATCHED: u64 = QUIET | ROOM;

/// What a subtraction has brought about.
#[derive(Debug)]
pub(super) struct Subtracted {
    /// The scope is complete.
    pub(super) complete: bool,
    /// Who is to be woken. Of a session: somebody waits for room.
    pub(super) wake: Option<*mut Waiter>,
    /// The owner, who waits for quiet, is to be told.
    pub(super) quiet: bool,
}

impl Own {
    pub(super) fn new() -> Self {
        Own { spawned: Cell::new(0), finished: Cell::new(0), open: Cell::new(true) }
    }

    /// How many spawns were counted here.
    #[inline]
    pub(super) fn spawned(&self) -> u64 {
        self.spawned.get()
    }

    /// Counts a spawn; the number of those before it.
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

    /// Counts a task that the owner's thread lets in, while the scope is open.
    pub(super) fn count_let_in(&self) {
        self.finished.set(self.finished.get().wrapping_sub(1));
    }

    /// Whether completions on the owner's thread are counted here.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open.get()
    }

    /// Whether the body is over, as its own thread asks.
    pub(super) fn is_closed(&self, shared: &Shared) -> bool {
        !self.open.get() && shared.word.load(Ordering::Acquire) & !WATCHED < OPEN
    }

    /// What was counted here and is outstanding, unless it was subtracted elsewhere; see *Counting* 1.
    #[inline]
    fn balance(&self) -> u64 {
        self.spawned.get().wrapping_sub(self.finished.get())
    }

    /// Tasks that are not complete, as far as the owner knows, while open.
    #[inline]
    pub(super) fn outstanding(&self, shared: &Shared) -> u64 {
        let word = shared.word.load(Ordering::Acquire) & !WATCHED;
        self.balance().wrapping_add(word).wrapping_sub(OPEN)
    }

    /// The body is over. True if everything is complete already; else whoever subtracts the last completion completes
    /// the scope, and takes the waiter.
    pub(super) fn close(&self, shared: &Shared, waiter: Option<&Waiter>) -> bool {
        let here = self.balance();
        self.open.set(false);
        if let Some(waiter) = waiter {
            shared.waiter.set(ptr::from_ref(waiter).cast_mut());
        }
        let add = here.wrapping_sub(OPEN);
        if here == 0 && shared.word.load(Ordering::Acquire) == OPEN {
            // Nothing is outstanding, so nobody else counts: the read-modify-write is spared.
            shared.word.store(0, Ordering::Relaxed);
            return true;
        }
        shared.word.fetch_add(add, Ordering::AcqRel).wrapping_add(add) & !WATCHED == 0
    }

    /// Counts nothing here any more, until `reclaim`; see *Counting* 7.
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

    /// Asks that the next subtraction wake the waiter; false if it will not be woken, fewer than `seen` tasks being
    /// outstanding already. Where `seen` comes from: *Counting* 6.
    pub(super) fn watch_for_room(&self, shared: &Shared, waiter: &Waiter, seen: u64) -> bool {
        shared.waiter.set(ptr::from_ref(waiter).cast_mut());
        shared.word.fetch_or(ROOM, Ordering::AcqRel);
        if self.outstanding(shared) == seen {
            return true;
        }
        // Whoever took the bit away wakes, or has woken, the waiter.
        !shared.unwatch_room()
    }

    /// Asks that somebody be told when at most `limit` tasks are outstanding, `seen` of them being so before the last
    /// look; false if fewer are by now, so that another look is due. See *Counting* 8.
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

    /// Counts a spawn that the owner does not; by the owner or by a task of the scope.
    pub(super) fn count_spawn(&self) {
        self.word.fetch_add(1, Ordering::Relaxed);
    }

    /// Subtracts `count` completions that happened on other workers, or after the owner closed. The caller wakes, or
    /// tells, whom the result names; `wakes_at_end` says whether there is a waiter for the end. Unless somebody is to
    /// be woken or told, or the scope is complete and has no waiter, it may be gone afterwards. If somebody waits for room,
    /// `keep` is called before, perhaps more than once (*Counting* 8).
    pub(super) fn subtract(
        &self,
        count: u64,
        wakes_at_end: impl FnOnce() -> bool,
        mut keep: impl FnMut(),
    ) -> Subtracted {
        // Acquire, here and where the exchange fails: `keep` reads what who asked for room has written before.
        let mut old = self.word.load(Ordering::Acquire);
        // One step, not a subtraction and then a look at the bits: after it the scope may be gone.
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

    /// Whether there is room when `word` is this, but for its bits.
    #[inline]
    fn is_room(&self, rest: u64) -> bool {
        rest <= self.room_at.load(Ordering::Relaxed)
    }

    /// Asks that the owner be told when it is quiet next; whether it is now.
    pub(super) fn watch_for_quiet(&self) -> bool {
        self.word.fetch_or(QUIET, Ordering::AcqRel) & !WATCHED == OPEN
    }

    /// Takes back `watch_for_quiet`: whether it is quiet; `None` if somebody is telling, or has told, the owner. If it was
    /// quiet when the owner began to watch, and is now, nothing was let in meanwhile: its end would have been told.
    pub(super) fn unwatch_quiet(&self) -> Option<bool> {
        let before = self.word.fetch_and(!QUIET, Ordering::AcqRel);
        (before & QUIET != 0).then_some(before & !WATCHED == OPEN)
    }

    /// Takes back `watch_for_room`; false if somebody is waking, or has woken, the waiter.
    pub(super) fn unwatch_room(&self) -> bool {
        self.word.fetch_and(!ROOM, Ordering::AcqRel) & ROOM != 0
    }
}
