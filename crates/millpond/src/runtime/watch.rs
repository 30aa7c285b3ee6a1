//! Who waits for tasks of a scope to complete: one watcher a task at most, since a task has one join. To put one in, to
//! take it back and to tell it takes constant time, however many joins are awaited at once. The protocol stands in
//! `runtime::join`.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::task::Waker;

use crate::panics::catch;
use crate::sync::Mutex;
use crate::task::Header;
use crate::worker::wait::Waiter;

/// A task, by its block and that block's use.
pub(crate) type Watched = (NonNull<Header>, u64);

/// How to tell that a task is complete, or a scope quiet.
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

    /// Takes a watcher back; false if the completer has taken it already: it tells, or has told.
    pub(crate) fn take_back(&self, of: Watched) -> bool {
        // Dropped behind the lock: a waker may run any code.
        let taken = self.0.lock().remove(&of);
        taken.is_some()
    }

    /// A watched task is complete.
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

/// Wakes a future. A waker that panics is its executor's affair; a worker must not unwind.
pub(crate) fn wake(waker: Waker) {
    drop(catch(|| waker.wake()));
}
