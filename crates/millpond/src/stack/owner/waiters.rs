//! Futures that wait for one closure: a join that is polled, whose task a thief may run while the body goes on.
//!
//! Wakers lie with the scope, by their closure's place in reference order; that there is one is a mark on the closure
//! (`theft`, WATCHED).
//!
//! 1. A poll locks the scope's wakers, puts its own there, marks the closure by a compare-and-swap, and unlocks. If the closure
//!    is ENDING or DONE it puts nothing there; ENDING lasts for a few steps of another thread.
//! 2. Who has run a closure that is marked locks the wakers, makes it ENDING, takes the waker out, and unlocks; then makes it
//!    DONE, and wakes. Before it is DONE the scope is there. A poll in between waits for DONE; a later one sees it.
//! 3. Who has run one that is not marked makes it DONE by a compare-and-swap, which fails if it is marked meanwhile.

use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use std::collections::BTreeMap;
use std::task::Waker;

use super::spawn::frames_of;
use crate::runtime::scope_state::ScopeState;
use crate::stack::layout::frames::closure;
use crate::stack::thief::theft::{self, State};
use crate::sync::{Mutex, spin_loop};
use crate::task::TaskRef;

#[cfg(all(test, loom))]
mod loom_tests;

/// By place in reference order.
pub(crate) type Wakers = Mutex<BTreeMap<u64, Waker>>;

/// Whether a closure of the scope whose body runs here, at this place in reference order, has ended.
pub(crate) fn has_ended(scope_state: &ScopeState, this: TaskRef, order: u64) -> bool {
    // SAFETY: the scope is open, as long as there are joins.
    let Some(frames) = (unsafe { frames_of(scope_state) }) else { return true };
    // The scope's body asks, so its frame is the youngest.
    let at = frames.next();
    // What is behind the cursor was not written over.
    at == frames.top() || closure(at).header().order() > order || theft::state(this) == State::Done
}

/// Wakes a future when the closure has ended, and no longer whom the poll before named; false if it has.
pub(crate) fn wake_when_ended(scope_state: &ScopeState, this: TaskRef, order: u64, waker: &Waker) -> bool {
    // Cloned, and the earlier one dropped, without the lock: that may run any code.
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

/// Makes a closure that was run DONE, and wakes who waits for it; what it was before.
pub(in crate::stack) fn end(this: TaskRef) -> u32 {
    let word = this.header().theft();
    let mut before = word.load(Acquire);
    while before & theft::WATCHED == 0 {
        match word.compare_exchange(before, theft::DONE, AcqRel, Acquire) {
            Ok(_) => return before,
            Err(now) => before = now,
        }
    }
    // SAFETY: a scope stays until its closures are done.
    let scope_state = unsafe { this.header().scope_state().as_ref() };
    let mut wakers = scope_state.closure_wakers().lock();
    word.fetch_or(theft::ENDING, AcqRel);
    let waker = wakers.remove(&this.header().order());
    drop(wakers);
    let before = word.swap(theft::DONE, AcqRel);
    waker.into_iter().for_each(crate::runtime::watch::wake);
    before
}
