//! One look at the value of a reduction at a time: [`Reducer::identity`](crate::Reducer::identity) gets a `&T`, and `T` need not
//! be `Sync`.
//!
//! A mutex would not do. `identity` is code of the user's, and may wait: then its worker runs other tasks, perhaps another
//! member of the same reduction.
//!
//! 1. A member takes the turn if it is free. If the member that has it runs, on another thread, the thread blocks until the turn
//!    ends: that is a matter of one `identity`. (Its worker could go on, but might not come back soon: the next task may block
//!    until this one runs, too.)
//! 2. If the member that has the turn waits (`park`), it says so, and the threads that block go on. From then on a member that
//!    wants the turn leaves a waiter, and waits as a body does. So does a member on the thread of the one that has the turn.
//! 3. When the turn ends, it is free. All that wait are woken, and try again.
//!
//! Each stack may have one turn. Which, a thread-local says; a fiber takes it along when it is put aside.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::current;
use super::stay::Awaited;
use super::wait::Waiter;
use crate::sync::{Condvar, Mutex};
use crate::worker::parker::Place;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The worker of the member that has the turn; null if it is free.
    by: Address,
    /// Whether that member waits, or has waited.
    parked: bool,
    waiting: Vec<NonNull<Waiter>>,
}

/// Of a worker, never looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Address(*const ());

impl Default for Address {
    fn default() -> Self {
        Address(ptr::null())
    }
}

// SAFETY: a waiter is woken once, by the thread that has taken it out under the lock; it stays until then. An address is a number.
unsafe impl Send for State {}

thread_local! {
    /// Whose turn the stack has that runs here.
    static HELD: Cell<*const Turns> = const { Cell::new(ptr::null()) };
}

/// Whose turn the stack has that runs here, from now on; and had before.
pub(super) fn replace_held(held: *const Turns) -> *const Turns {
    HELD.replace(held)
}

/// The body that runs here is about to wait (step 2).
#[inline]
pub(super) fn park() {
    // SAFETY: the turn, on this stack, borrows it.
    if let Some(turns) = unsafe { HELD.get().as_ref() } {
        turns.note_parked();
    }
}

impl Turns {
    /// Waits for the turn, on behalf of the body that runs on this thread.
    pub(crate) fn take(&self) -> Turn<'_> {
        let worker = current::any().expect("a member of a reduction runs on a worker");
        let here = Address(worker.worker);
        let place = Place::Worker(worker);
        self.take_at(here, || place.waiter(), |waiter| place.wait(waiter, Awaited::Others));
        Turn { turns: self, before: HELD.replace(self) }
    }

    fn take_at(&self, here: Address, waiter: impl Fn() -> Waiter, wait: impl Fn(&Waiter)) {
        loop {
            let waiter = waiter();
            if self.take_or_watch(here, &waiter) {
                return;
            }
            wait(&waiter);
        }
    }

    /// Steps 1 and 2; false if the waiter will be woken.
    fn take_or_watch(&self, here: Address, waiter: &Waiter) -> bool {
        let mut state = self.state.lock();
        while state.by != Address::default() {
            if state.parked || state.by == here {
                state.waiting.push(waiter.into());
                return false;
            }
            state = self.changed.wait(state);
        }
        (state.by, state.parked) = (here, false);
        true
    }

    /// Step 2, by the member that has the turn.
    fn note_parked(&self) {
        self.state.lock().parked = true;
        self.changed.notify_all();
    }

    /// Step 3.
    fn end(&self) {
        let mut state = self.state.lock();
        state.by = Address::default();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.changed.notify_all();
        waiting.into_iter().for_each(|waiter| Waiter::wake_at(waiter.as_ptr()));
    }
}

/// The turn, until this is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    before: *const Turns,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        HELD.set(self.before);
        self.turns.end();
    }
}
