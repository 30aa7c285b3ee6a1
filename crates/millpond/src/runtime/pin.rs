//! Pinning: worker `i` to the `i`-th processor that the process may use.
//!
//! A thread inherits the processors of the thread that makes it. So the caller of a scope is bound when the closure has ended, and
//! not before; and a thread that is bound remembers what it could use before, for the runtimes that its bodies make.

use std::cell::Cell;

use crate::engine::Engine;
use crate::sync::system::Processors;
use crate::worker::seats::Shared;

thread_local! {
    /// The processors that this thread could use before it was bound to one.
    static BEFORE: Cell<Option<Processors>> = const { Cell::new(None) };
}

/// How many processors a runtime that is built here may use. The limits of control groups count, too: so a thread that is bound
/// asks with the processors that it could use before.
pub(super) fn parallelism() -> usize {
    let bound_to = BEFORE.get().and_then(|before| Processors::of_this_thread().filter(|_| before.bind_this_thread()));
    let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
    // A system that refuses leaves the thread free, which is no error.
    let _is_bound = bound_to.map(|processors| processors.bind_this_thread());
    parallelism
}

/// Binds this thread, unless it is bound; whether it was not, and is.
fn pin(index: usize) -> bool {
    let before = if BEFORE.get().is_none() { Processors::of_this_thread() } else { None };
    let bound = before.filter(|before| before.nth(index).is_some_and(|one| one.bind_this_thread()));
    if bound.is_some() {
        BEFORE.set(bound);
    }
    bound.is_some()
}

/// What a thread that is made here has to give back, if it inherits a binding.
pub(super) fn inherited() -> Option<Processors> {
    BEFORE.get()
}

/// Gives a new thread the processors that the thread which has made it could use before it was bound.
pub(super) fn release(inherited: Option<Processors>) {
    // A system that refuses leaves it where it is, which is no error.
    let _is_free = inherited.map(|processors| processors.bind_this_thread());
}

/// Pins a worker thread for its life. A system that refuses leaves it where it is.
pub(crate) fn worker(index: usize) {
    let _is_bound = pin(index);
}

/// Pins the caller of a scope until the guard is dropped, if the runtime pins.
pub(super) fn caller<E: Engine>(shared: &Shared<E>, seat: usize) -> Option<Unpin> {
    (shared.config.pin && pin(seat)).then_some(Unpin(()))
}

/// Gives a thread back the processors that it could use before.
pub(super) struct Unpin(());

impl Drop for Unpin {
    fn drop(&mut self) {
        // A system that refuses leaves the thread pinned, which is no error.
        let _is_free = BEFORE.take().map(|before| before.bind_this_thread());
    }
}
