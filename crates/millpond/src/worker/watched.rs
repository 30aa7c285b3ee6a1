//! Whether a watchdog has something to watch: the count of open scopes and sessions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, process};

/// Whether there is anything to watch. Caller contexts share the runtime's.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Watched {
    /// The number of open scopes and sessions.
    open: usize,
    /// The watchdog is checking the runtime now.
    looks: bool,
    /// The runtime is ending.
    ended: bool,
}

impl Watch {
    /// A scope or a session is open until the result is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> Open {
        self.change(|watched| watched.open += 1);
        Open { watch: Arc::clone(self), generation: process::generation() }
    }

    fn change(&self, change: impl FnOnce(&mut Watched)) {
        change(&mut self.watched.lock());
        // While the watchdog checks, it does not wait, so at most one thread waits.
        self.changed.notify_one();
    }

    /// Waits until a scope or session is open, and then for `time`. Then the watchdog checks.
    /// Returns false if the runtime ends.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let mut watched = self.watched.lock();
        while watched.open == 0 && !watched.ended {
            watched = self.changed.wait(watched);
        }
        let mut woken = true;
        // A scope that is opened or closed meanwhile wakes it, too.
        let until = Instant::now() + time;
        while woken && !watched.ended {
            let left = until.saturating_duration_since(Instant::now());
            (watched, woken) = self.changed.wait_for(watched, left);
        }
        watched.looks = !watched.ended;
        watched.looks
    }

    /// The check that `sleep` began is over.
    pub(crate) fn end_check(&self) {
        self.change(|watched| watched.looks = false);
    }

    /// Ends the watchdog with the runtime; waits for a check that has begun.
    pub(crate) fn end(&self) {
        self.change(|watched| watched.ended = true);
        let mut watched = self.watched.lock();
        while watched.looks {
            watched = self.changed.wait(watched);
        }
    }
}

/// A scope or a session that is open.
#[derive(Debug)]
pub(crate) struct Open {
    watch: Arc<Watch>,
    generation: u32,
}

impl Drop for Open {
    fn drop(&mut self) {
        // The child of a fork has no watchdog, and the parent's may have held the lock.
        if self.generation == process::generation() {
            self.watch.change(|watched| watched.open -= 1);
        }
    }
}
