//! Pinning: binds worker `i` to the `i`-th processor that the process may use.
//!
//! A thread inherits the processors of the thread that creates it. So the caller of a scope is
//! bound only after the closure has ended. A bound thread remembers its former processors, for the
//! runtimes that its bodies build.

use std::cell::Cell;

use crate::sync::system::Processors;
use crate::worker::engine::WorkerEngine;
use crate::worker::seats::Shared;

thread_local! {
    /// The processors that this thread could use before it was bound to one.
    static BEFORE: Cell<Option<Processors>> = const { Cell::new(None) };
}

/// The number of processors that a runtime built here may use. The limits of control groups count,
/// too, so a bound thread asks with its former processors.
pub(crate) fn parallelism() -> usize {
    let bound_to = BEFORE.get().and_then(|before| Processors::of_this_thread().filter(|_| before.bind_this_thread()));
    let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
    // A system that refuses leaves the thread unbound, which is not an error.
    let _is_bound = bound_to.map(|processors| processors.bind_this_thread());
    parallelism
}

/// Binds this thread, unless it is bound already. Returns whether this call bound it.
fn pin(index: usize) -> bool {
    let before = if BEFORE.get().is_none() { Processors::of_this_thread() } else { None };
    let bound = before.filter(|before| before.nth(index).is_some_and(|one| one.bind_this_thread()));
    if bound.is_some() {
        BEFORE.set(bound);
    }
    bound.is_some()
}

/// The former processors of this thread. A new thread must restore them if it inherits a binding.
pub(crate) fn inherited() -> Option<Processors> {
    BEFORE.get()
}

/// Gives a new thread the processors that its creator had before it was bound.
pub(crate) fn release(inherited: Option<Processors>) {
    // A system that refuses leaves the thread where it is, which is not an error.
    let _is_free = inherited.map(|processors| processors.bind_this_thread());
}

/// Pins a worker thread for its lifetime. A system that refuses leaves it where it is.
pub(crate) fn worker(index: usize) {
    let _is_bound = pin(index);
}

/// Pins the caller of a scope until the guard is dropped, if the runtime pins.
pub(crate) fn caller<E: WorkerEngine>(shared: &Shared<E>, seat: usize) -> Option<Unpin> {
    (shared.config.pin && pin(seat)).then_some(Unpin(()))
}

/// Restores the processors that a thread had before.
pub(crate) struct Unpin(());

impl Drop for Unpin {
    fn drop(&mut self) {
        // A system that refuses leaves the thread pinned, which is not an error.
        let _is_free = BEFORE.take().map(|before| before.bind_this_thread());
    }
}
