//! The watchers of a scope's tasks. A watcher waits for the completion of one task. A task has one
//! join, so at most one watcher. Adding, removing and notifying one take constant time on average,
//! however many joins are awaited. `runtime::join::pending` has the protocol.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::task::Waker;

use crate::panics::catch;
use crate::sync::Mutex;
use crate::task::Header;
use crate::worker::wait::Waiter;

/// A task: its block and the block's use.
pub(crate) type Watched = (NonNull<Header>, u64);

/// How to notify a waiter that a task is complete, or a scope quiet.
pub(crate) enum Tell {
    Waiter(NonNull<Waiter>),
    Waker(Waker),
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Watchers(Mutex<HashMap<Watched, Tell>>);

impl Watchers {
    pub(crate) fn put(&self, of: Watched, tell: Tell) {
        let before = self.0.lock().insert(of, tell);
        debug_assert!(before.is_none(), "a join has one watcher");
    }

    /// Takes a watcher back. Returns false if the completer has taken it already, and notifies or
    /// has notified it.
    pub(crate) fn take_back(&self, of: Watched) -> bool {
        // Dropped after the lock is released: a waker may run any code.
        let taken = self.0.lock().remove(&of);
        taken.is_some()
    }

    /// Notifies the watcher of a complete task.
    pub(crate) fn tell(&self, of: Watched) {
        let taken = self.0.lock().remove(&of);
        taken.into_iter().for_each(Tell::tell);
    }
}

impl Tell {
    pub(crate) fn tell(self) {
        match self {
            Tell::Waiter(waiter) => Waiter::wake_at(waiter.as_ptr()),
            Tell::Waker(waker) => wake(waker),
        }
    }
}

/// Wakes a future. Ignores a panic of the waker, because a worker must not unwind.
pub(crate) fn wake(waker: Waker) {
    drop(catch(|| waker.wake()));
}
