//! The event buffer of one seat. Its worker writes events, and any thread that drains reads them.
//!
//! 1. Only the seat's worker writes events, at `written`. Then it publishes them by a store of
//!    `written + 1` (release). It reads nothing that other threads write.
//! 2. A drainer holds the lock. It loads `written` (acquire), so it sees all events before that. It
//!    hands over the events from `taken` on, and updates `taken`, under the lock.
//! 3. If the event buffer is full, its worker takes the lock, hands over the rest, and winds back:
//!    `taken` and `written` are 0 again before it releases the lock. So no drainer reads a place
//!    that is being overwritten.
//!
//! The worker takes no lock and does no read-modify-write, except once in [`LENGTH`] events.

use std::sync::OnceLock;

use super::{Event, Track};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Guarded, Mutex};

#[cfg(all(test, loom))]
mod loom_tests;

/// The number of events in a buffer: a part of a second-level cache. Two in models.
const LENGTH: usize = if cfg!(loom) { 2 } else { 1024 };

/// See the [module](self).
pub(crate) struct EventBuffer {
    track: Track,
    /// Allocated at the first event: most runtimes record nothing.
    events: OnceLock<Box<[Guarded<Event>]>>,
    written: AtomicUsize,
    /// The number of written events that were handed over.
    taken: Mutex<usize>,
}

// SAFETY: the seat's worker writes the cells before it publishes them. Other threads read only
// published cells, under the lock. The worker winds back under the lock (steps 1 to 3).
unsafe impl Sync for EventBuffer {}
// SAFETY: events may go to other threads.
unsafe impl Send for EventBuffer {}

impl EventBuffer {
    pub(crate) fn new(track: Track) -> Self {
        EventBuffer { track, events: OnceLock::new(), written: AtomicUsize::new(0), taken: Mutex::new(0) }
    }

    pub(crate) fn track(&self) -> Track {
        self.track
    }

    /// Writes an event. Only the seat's worker calls this. Returns whether the event buffer was
    /// full. If so, it has handed over events by `give`, which must run no user code.
    #[inline]
    pub(crate) fn write(&self, event: Event, give: impl FnOnce(&[Event])) -> bool {
        let events = self.events.get_or_init(|| (0..LENGTH).map(|_| Guarded::new(Event::NONE)).collect());
        let at = self.written.load(Ordering::Relaxed);
        events[at].set(event);
        self.written.store(at + 1, Ordering::Release);
        let is_full = at + 1 == LENGTH;
        if is_full {
            self.wind_back(give);
        }
        is_full
    }

    #[cold]
    fn wind_back(&self, give: impl FnOnce(&[Event])) {
        let mut taken = self.taken.lock();
        give(&self.copy(*taken, LENGTH));
        *taken = 0;
        self.written.store(0, Ordering::Relaxed);
    }

    /// Hands over the events that were not handed over before, by `give`, which must run no user
    /// code. Any thread may call this.
    pub(crate) fn drain(&self, give: impl FnOnce(&[Event])) {
        let mut taken = self.taken.lock();
        let written = self.written.load(Ordering::Acquire);
        if written > *taken {
            give(&self.copy(*taken, written));
            *taken = written;
        }
    }

    /// Whether all written events were handed over.
    pub(crate) fn is_drained(&self) -> bool {
        *self.taken.lock() == self.written.load(Ordering::Acquire)
    }

    fn copy(&self, from: usize, to: usize) -> Vec<Event> {
        self.events.get().map_or_else(Vec::new, |events| events[from..to].iter().map(Guarded::get).collect())
    }
}
