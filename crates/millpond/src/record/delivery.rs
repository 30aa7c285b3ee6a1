//! How events get from the event buffers to the sinks: one thread at a time gives them, and holds no lock meanwhile.
//!
//! Sinks are code of the user's. They may use the recorder again, or wait for a thread that does and is no worker.
//!
//! 1. Under its lock an event buffer sends events: they are put at the end of a queue. So those of one track are in their order.
//! 2. Without the lock of the event buffer the thread becomes the one that delivers, if there is none. It takes batches out one by
//!    one, gives each to its sinks, and is through when none is left.
//! 3. If another thread delivers, a worker goes on: that thread gives the sinks what the worker has sent. It waits only if
//!    very much is on its way, so that a slow sink does not take all memory.
//! 4. A thread that drains waits until all that was sent before is delivered.
//! 5. If the thread itself delivers, a sink has called. It waits for nothing: what it has sent is delivered when it returns.

use std::collections::VecDeque;
use std::thread::{self, ThreadId};

use super::{Event, Sinks, Track};
use crate::panics::catch;
use crate::sync::{Condvar, Mutex};
use crate::worker::current::{Enter, Visit};

/// Batches on their way for which no worker waits: some 10 MB.
const MOST: usize = 256;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Delivery {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Events of one track, and for whom they are.
pub(super) struct Batch {
    pub(super) track: Track,
    pub(super) events: Box<[Event]>,
    pub(super) sinks: Sinks,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// How many were sent, and delivered, so far.
    sent: u64,
    delivered: u64,
    /// The thread that delivers.
    by: Option<ThreadId>,
}

impl Delivery {
    /// Step 1.
    pub(super) fn send(&self, batch: Batch) {
        let mut queue = self.queue.lock();
        queue.batches.push_back(batch);
        queue.sent += 1;
    }

    /// Steps 2 and 3.
    pub(super) fn deliver(&self) {
        self.deliver_until(|queue| queue.batches.len() < MOST);
    }

    /// Steps 2 and 4.
    pub(super) fn deliver_all(&self) {
        let sent = { self.queue.lock().sent };
        self.deliver_until(|queue| queue.delivered >= sent);
    }

    /// Delivers, or waits for the thread that does until `enough`.
    fn deliver_until(&self, enough: impl Fn(&Queue) -> bool) {
        let here = thread::current().id();
        let mut queue = self.queue.lock();
        loop {
            match queue.by {
                // Step 5.
                Some(thread) if thread == here => return,
                Some(_) if enough(&queue) => return,
                Some(_) => queue = self.changed.wait(queue),
                None if queue.batches.is_empty() => return,
                None => break,
            }
        }
        queue.by = Some(here);
        while let Some(batch) = queue.batches.pop_front() {
            drop(queue);
            batch.deliver();
            queue = self.queue.lock();
            queue.delivered += 1;
            self.changed.notify_all();
        }
        queue.by = None;
        self.changed.notify_all();
    }
}

impl Batch {
    fn deliver(self) {
        // A worker may be in the middle of a spawn: until the sinks return, this thread can use no runtime.
        let (_no_worker, _visit) = (Enter::none(), Visit::of_sinks());
        // A worker must not unwind.
        self.sinks.iter().for_each(|sink| drop(catch(|| sink.take(self.track, &self.events))));
        // The last to have a sink, perhaps.
        drop(catch(|| drop(self)));
    }
}
