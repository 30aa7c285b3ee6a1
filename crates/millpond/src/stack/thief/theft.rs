//! Thefts: how a thief marks a closure, and how an owner waits for a stolen one (DDS §3, Fig. 3).
//!
//! ```text
//!              thief            thief, at the end           the owner
//!   UNTOUCHED ───────▶ STOLEN ─────────────────────▶ DONE ──────────────────────▶ PASSED
//!                        │ the owner reaches it        ▲
//!                        ▼                             │
//!                     AWAITED ─────────────────────────┘ and the thief continues with that stack
//! ```
//!
//! 1. A thief makes a closure STOLEN under the stack's owner lock (`owner_lock`).
//! 2. If an owner's next closure is STOLEN, the owner runs others (`owner::ahead`) or waits for a
//!    moment. Then it leaves the stack
//!    (`Frames::leave`), and makes the closure AWAITED by a compare-and-swap. If that fails, the
//!    closure is DONE, and the owner continues with the stack. Otherwise the owner does not touch
//!    the stack again.
//! 3. The thief's last access to the closure is a read-modify-write that makes it DONE. If the old
//!    value shows AWAITED, the stack is the thief's. If a body waits on a thread's stack
//!    (`Frames::blocked`), the thief wakes that body. Otherwise the thief continues with the stack.
//!
//! A thief may first reserve an untouched closure. It makes the closure STOLEN when it begins it
//! (`batches`).
//!
//! Before a closure is DONE, untouched or not, it can also be marked WATCHED (`waiters`).

use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::clock;
use crate::stack::layout::frames::Frames;
use crate::stack::owner::waiters;
use crate::sync::spin_loop;
use crate::task::{GUARD, TaskRef};
use crate::worker::wait::Waiter;

#[cfg(all(test, loom))]
mod loom_tests;

/// Bits of `Header::theft`. While no thief has touched a closure, [`GUARD`] is set there.
const STOLEN: u32 = 1;
const AWAITED: u32 = 2;
/// A future waits for the closure.
pub(in crate::stack) const WATCHED: u32 = 4;
/// The worker that ran the closure is about to wake that future.
pub(in crate::stack) const ENDING: u32 = 8;
pub(in crate::stack) const DONE: u32 = 16;
/// Nothing is left to do for the closure.
const PASSED: u32 = 32;
/// A thief will begin the closure soon (`batches`).
const RESERVED: u32 = 64;

/// How many clock ticks (about 0.4 ns) an owner waits for a stolen closure before it leaves the
/// stack. Switching to another stack takes this long.
const TICKS_BEFORE_LEAVE: u64 = 1 << 13;

/// The state of a closure, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Untouched,
    Reserved,
    Stolen,
    Done,
}

/// The current state of a closure.
pub(crate) fn state(closure: TaskRef) -> State {
    match closure.header().theft().load(Acquire) {
        word if word & GUARD != 0 => State::Untouched,
        word if word & DONE != 0 => State::Done,
        word if word & RESERVED != 0 => State::Reserved,
        _ => State::Stolen,
    }
}

/// Waits for a moment for a stolen closure that comes next in a stack. Returns whether it is done.
pub(in crate::stack) fn ends_soon(closure: TaskRef) -> bool {
    let until = clock::ticks() + TICKS_BEFORE_LEAVE;
    // A loom model has no time.
    while cfg!(not(loom)) && state(closure) == State::Stolen && clock::ticks() < until {
        spin_loop();
    }
    state(closure) == State::Done
}

/// Marks an untouched closure as stolen. The caller scans under the stack's owner lock.
pub(in crate::stack) fn take(closure: TaskRef) {
    // The body that spawned the closure may mark it at the same time.
    closure.header().theft().fetch_xor(GUARD | STOLEN, Relaxed);
}

/// Marks an untouched closure as reserved. The caller scans under the stack's owner lock, and has
/// locked the batches.
pub(super) fn reserve(closure: TaskRef) {
    closure.header().theft().fetch_xor(GUARD | RESERVED, Relaxed);
}

/// Makes a reserved closure stolen. The caller has locked the batches, as in the next function.
pub(super) fn begin(closure: TaskRef) {
    closure.header().theft().fetch_xor(RESERVED | STOLEN, Relaxed);
}

/// Makes a reserved closure untouched.
pub(super) fn give_back(closure: TaskRef) {
    closure.header().theft().fetch_xor(RESERVED | GUARD, Relaxed);
}

/// Marks a closure for which a future waits. Returns false if the closure is done, or almost.
pub(in crate::stack) fn mark(closure: TaskRef) -> bool {
    let marked = |word: u32| (word & (ENDING | DONE) == 0).then_some(word | WATCHED);
    closure.header().theft().fetch_update(AcqRel, Acquire, marked).is_ok()
}

/// Records that nothing is left to do for a done closure. Returns false if that was recorded
/// before.
pub(in crate::stack) fn pass(closure: TaskRef) -> bool {
    closure.header().theft().swap(DONE | PASSED, Relaxed) & PASSED == 0
}

/// Leaves a stack whose next closure is stolen. When that closure is done, the thief wakes
/// `waiter`. If `waiter` is null, the thief continues with the stack instead.
///
/// Returns false if the closure is done. Then the stack, which the caller has left, is still the
/// caller's.
pub(in crate::stack) fn wait_for(frames: &Frames, stolen: TaskRef, waiter: *const Waiter) -> bool {
    frames.blocked.set(waiter.cast_mut());
    frames.leave();
    let awaited = |word: u32| (word & DONE == 0).then_some(word | AWAITED);
    stolen.header().theft().fetch_update(AcqRel, Acquire, awaited).is_ok()
}

/// Takes back the announcement of `wait_for`. Returns false if the closure is done: then the thief
/// wakes the waiter.
pub(in crate::stack) fn wait_no_longer(stolen: TaskRef) -> bool {
    let not_awaited = |word: u32| (word & DONE == 0).then_some(word & !AWAITED);
    stolen.header().theft().fetch_update(AcqRel, Acquire, not_awaited).is_ok()
}

/// Ends a thief's work on a closure of `frames`. Returns the stack if the thief must continue with
/// it.
pub(in crate::stack) fn end(frames: &Frames, closure: TaskRef) -> Option<&Frames> {
    let is_awaited = waiters::end(closure) & AWAITED != 0;
    // The count comes after the end, so that a thread that sees the count also sees the end. Stacks
    // live as long as the runtime.
    frames.count_change();
    if is_awaited {
        let waiter = frames.blocked.get();
        if waiter.is_null() {
            return Some(frames);
        }
        Waiter::wake_at(waiter);
    }
    None
}
