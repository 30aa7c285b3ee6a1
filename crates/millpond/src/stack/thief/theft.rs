//! Thefts: what a thief does to a closure, and how who comes to a stolen one waits for it (DDS §3, Fig. 3).
//!
//! ```text
//!              thief            thief, at the end           who runs the stack
//!   UNTOUCHED ───────▶ STOLEN ─────────────────────▶ DONE ──────────────────────▶ PASSED
//!                        │ who runs the victim's stack ▲
//!                        ▼ comes to it                 │
//!                     AWAITED ─────────────────────────┘ and the thief goes on with that stack
//! ```
//!
//! 1. A thief makes a closure STOLEN under the stack's guard (`guard`).
//! 2. Who comes to a closure that is STOLEN waits for a moment, then leaves the stack (`Frames::leave`), and makes it AWAITED by a
//!    compare-and-swap. If that fails it is DONE, and it goes on with the stack. Else it does not touch the stack again.
//! 3. The thief touches the closure last by a read-modify-write for DONE. If that shows AWAITED, the stack is the thief's: it goes
//!    on with it, or, if a body waits on a thread's stack (`Frames::blocked`), wakes that.
//!
//! Untouched or not, a closure may be WATCHED besides (`watch`).

use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::clock;
use crate::stack::layout::frames::Frames;
use crate::stack::owner::waiters;
use crate::sync::spin_loop;
use crate::task::{GUARD, TaskRef};
use crate::worker::wait::Waiter;

#[cfg(all(test, loom))]
mod loom_tests;

/// Bits of `Header::theft`; a closure that no thief has touched has [`GUARD`] there.
const STOLEN: u32 = 1;
const AWAITED: u32 = 2;
/// A future waits for it.
pub(in crate::stack) const WATCHED: u32 = 4;
/// Who has run it wakes that future.
pub(in crate::stack) const ENDING: u32 = 8;
pub(in crate::stack) const DONE: u32 = 16;
/// Nothing is left to do about it.
const PASSED: u32 = 32;

/// For so many ticks of the clock (some 0.4 ns) who comes to a closure that is stolen waits until it leaves the stack: as long as
/// it takes to leave one and to go on with another.
const SOON: u64 = 1 << 13;

/// What has happened to a closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Untouched,
    Stolen,
    Done,
}

/// What has happened to a closure.
pub(crate) fn state(closure: TaskRef) -> State {
    match closure.header().theft().load(Acquire) {
        word if word & GUARD != 0 => State::Untouched,
        word if word & DONE != 0 => State::Done,
        _ => State::Stolen,
    }
}

/// Whether a closure that is stolen, and to which a stack comes, is done in a moment.
pub(in crate::stack) fn ends_soon(closure: TaskRef) -> bool {
    let until = clock::ticks() + SOON;
    // A model has no time.
    while cfg!(not(loom)) && state(closure) == State::Stolen && clock::ticks() < until {
        spin_loop();
    }
    state(closure) == State::Done
}

/// A thief takes a closure that is untouched, under the stack's guard.
pub(in crate::stack) fn take(closure: TaskRef) {
    // The body that has spawned it may mark it meanwhile.
    closure.header().theft().fetch_xor(GUARD | STOLEN, Relaxed);
}

/// A future waits for the closure; false if it is done, or about to be.
pub(in crate::stack) fn mark(closure: TaskRef) -> bool {
    let marked = |word: u32| (word & (ENDING | DONE) == 0).then_some(word | WATCHED);
    closure.header().theft().fetch_update(AcqRel, Acquire, marked).is_ok()
}

/// Nothing is left to do about a closure that is done; false if that was so before.
pub(in crate::stack) fn pass(closure: TaskRef) -> bool {
    closure.header().theft().swap(DONE | PASSED, Relaxed) & PASSED == 0
}

/// Leaves a stack whose next closure is stolen: `waiter` is woken when that is done, or, if it is none, the thief goes on
/// with the stack. False if it is done: the stack is still the caller's, but left.
pub(in crate::stack) fn wait_for(frames: &Frames, stolen: TaskRef, waiter: *const Waiter) -> bool {
    frames.blocked.set(waiter.cast_mut());
    frames.leave();
    let awaited = |word: u32| (word & DONE == 0).then_some(word | AWAITED);
    stolen.header().theft().fetch_update(AcqRel, Acquire, awaited).is_ok()
}

/// Takes back what `wait_for` has announced; false if the closure is done: the waiter is being woken.
pub(in crate::stack) fn wait_no_longer(stolen: TaskRef) -> bool {
    let not_awaited = |word: u32| (word & DONE == 0).then_some(word & !AWAITED);
    stolen.header().theft().fetch_update(AcqRel, Acquire, not_awaited).is_ok()
}

/// A thief is through with a closure of `frames`; the stack, if the thief is to go on with it.
pub(in crate::stack) fn end(frames: &Frames, closure: TaskRef) -> Option<&Frames> {
    let is_awaited = waiters::end(closure) & AWAITED != 0;
    // Behind the end, of which who sees the count knows; stacks live as long as the runtime.
    frames.count_theft();
    if is_awaited {
        let waiter = frames.blocked.get();
        if waiter.is_null() {
            return Some(frames);
        }
        Waiter::wake_at(waiter);
    }
    None
}
