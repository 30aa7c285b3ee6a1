//! Lets the members of a reduction read its value one at a time.
//! [`Reducer::identity`](crate::Reducer::identity) gets a `&T`, and `T` need not be `Sync`.
//!
//! A mutex does not suffice: `identity` is user code, and may wait. Then its worker runs other
//! tasks, perhaps another member of the same reduction.
//!
//! 1. If the turn is free, a member takes it. If the member that has the turn runs on another
//!    thread, the new member's thread blocks until the turn ends. That takes as long as one
//!    `identity`. (If its worker ran other tasks instead, it might not come back soon: the next
//!    task may block until this one runs, too.)
//! 2. If the member that has the turn waits (`park`), it records that, and the blocked threads
//!    continue. From then on, a member that wants the turn leaves a waiter, and waits like a body.
//!    So does a member on the same thread as the one that has the turn.
//! 3. When the turn ends, it is free, and all waiting members are woken and try again.
//!
//! Each stack may have one turn. A thread-local stores that of the running stack, and a suspended
//! fiber takes its turn along.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::current;
use super::stay::Awaited;
use super::wait::Waiter;
use crate::sync::{Condvar, Mutex};
use crate::worker::parker::WaitPlace;

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

/// The address of a worker. It is never dereferenced.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Address(*const ());

impl Default for Address {
    fn default() -> Self {
        Address(ptr::null())
    }
}

// SAFETY: the thread that has taken a waiter out under the lock wakes it once, and the waiter
// remains valid until then. An address is only a number.
unsafe impl Send for State {}

thread_local! {
    /// The turn of the stack that runs here.
    static HELD: Cell<*const Turns> = const { Cell::new(ptr::null()) };
}

/// Sets the turn of the stack that runs here, and returns the previous one.
pub(super) fn replace_held(held: *const Turns) -> *const Turns {
    HELD.replace(held)
}

/// The body here is about to wait (step 2).
#[inline]
pub(super) fn park() {
    // SAFETY: the `Turn` on this stack borrows it.
    if let Some(turns) = unsafe { HELD.get().as_ref() } {
        turns.note_parked();
    }
}

impl Turns {
    /// Waits for the turn, on behalf of the body on this thread.
    pub(crate) fn take(&self) -> Turn<'_> {
        let worker = current::any().expect("a member of a reduction runs on a worker");
        let here = Address(worker.worker);
        let place = WaitPlace::Worker(worker);
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

    /// Steps 1 and 2. Returns false if the waiter will be woken.
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

/// Holds the turn. The drop ends it.
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
