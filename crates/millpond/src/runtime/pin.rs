//! Pinning: worker `i` to the `i`-th processor that the process may use.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::shared::Shared;
use crate::engine::Engine;

/// Pins this thread; the processors that it could use before.
fn pin(index: usize) -> Option<CpuSet> {
    let before = sched_getaffinity(None).ok()?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(*allowed.get(index % allowed.len().max(1))?);
    sched_setaffinity(None, &one).ok()?;
    Some(before)
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
pub(crate) struct Unpin(CpuSet);

impl Drop for Unpin {
    fn drop(&mut self) {
        // A system that refuses leaves the thread pinned, which is no error.
        let _ = sched_setaffinity(None, &self.0);
    }
}
