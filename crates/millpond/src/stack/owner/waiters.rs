//! Futures that wait for one closure: a polled join, whose task a thief may run while the body
//! continues.
//!
//! The scope keeps the wakers, by the place of their closure in reference order. A mark on the
//! closure says that it has a waker (`theft`, WATCHED).
//!
//! 1. A poll locks the scope's wakers, inserts its own, marks the closure by a compare-and-swap,
//!    and unlocks. If the closure is ENDING or DONE, the poll inserts nothing. ENDING lasts for a
//!    few steps of another thread.
//! 2. A worker that has run a marked closure locks the wakers, makes the closure ENDING, takes the
//!    waker out, and unlocks. Then it makes the closure DONE, and wakes the future. The scope
//!    exists until the closure is DONE. A poll between these steps waits for DONE, and a later poll
//!    sees it.
//! 3. A worker that has run an unmarked closure makes it DONE by a compare-and-swap. That fails if
//!    a poll marks the closure meanwhile.

use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use std::task::Waker;

use crate::stack::layout::frames::{Frames, closure};
use crate::stack::thief::theft::{self, State};
use crate::sync::spin_loop;
use crate::task::TaskRef;
use crate::worker::scope_state::ScopeState;

#[cfg(all(test, loom))]
mod loom_tests;

/// Whether a closure of a scope has ended. The scope's body runs here, with its tasks in `frames`.
/// `order` is the closure's place in reference order.
pub(in crate::stack) fn has_ended(frames: &Frames, this: TaskRef, order: u64) -> bool {
    // The scope's body calls this, so its frame is the youngest.
    let at = frames.next();
    // A closure after the cursor was not overwritten.
    at == frames.top() || closure(at).header().order() > order || theft::state(this) == State::Done
}

/// Wakes a future when the closure has ended, and forgets the previous poll's waker. Returns false
/// if the closure has ended.
pub(in crate::stack) fn wake_when_ended(scope_state: &ScopeState, this: TaskRef, order: u64, waker: &Waker) -> bool {
    // The waker is cloned, and the earlier one dropped, without the lock: either may run any code.
    let waker = waker.clone();
    let mut wakers = scope_state.closure_wakers().lock();
    let earlier = wakers.insert(order, waker);
    let is_marked = theft::mark(this);
    let waker = if is_marked { None } else { wakers.remove(&order) };
    drop(wakers);
    drop((earlier, waker));
    while !is_marked && theft::state(this) != State::Done {
        spin_loop();
    }
    is_marked
}

/// Makes a closure DONE after its run, and wakes the future that waits for it. Returns its earlier
/// state.
pub(in crate::stack) fn end(this: TaskRef) -> u32 {
    let word = this.header().theft();
    let mut before = word.load(Acquire);
    while before & theft::WATCHED == 0 {
        match word.compare_exchange(before, theft::DONE, AcqRel, Acquire) {
            Ok(_) => return before,
            Err(now) => before = now,
        }
    }
    // SAFETY: a scope exists until its closures are DONE.
    let scope_state = unsafe { this.header().scope_state().as_ref() };
    let mut wakers = scope_state.closure_wakers().lock();
    word.fetch_or(theft::ENDING, AcqRel);
    let waker = wakers.remove(&this.header().order());
    drop(wakers);
    let before = word.swap(theft::DONE, AcqRel);
    waker.into_iter().for_each(crate::worker::watch::wake);
    before
}
