//! Pinning: worker `i` to the `i`-th processor that the process may use.

use super::shared::Shared;
use crate::engine::Engine;
use crate::sync::system::Processors;

/// Pins this thread; the processors that it could use before.
fn pin(index: usize) -> Option<Processors> {
    let before = Processors::of_this_thread()?;
    before.nth(index)?.bind_this_thread().then_some(before)
}

/// Pins a worker thread for its life. A system that refuses leaves it where it is.
pub(crate) fn worker(index: usize) {
    let _before = pin(index);
}

/// Pins the caller of a scope until the guard is dropped, if the runtime pins.
pub(crate) fn guest<E: Engine>(shared: &Shared<E>, seat: usize) -> Option<Unpin> {
    if shared.config.pin { pin(seat).map(Unpin) } else { None }
}

/// Gives a thread back the processors that it could use before.
pub(crate) struct Unpin(Processors);

impl Drop for Unpin {
    fn drop(&mut self) {
        // A system that refuses leaves the thread pinned, which is no error.
        let _is_bound = self.0.bind_this_thread();
    }
}
