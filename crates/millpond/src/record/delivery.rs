//! How events get from the event buffers to the sinks. One thread at a time delivers them, and
//! holds no lock of the recorder meanwhile.
//!
//! Sinks are user code. They may use the recorder again, or wait for a thread that uses it and is
//! not a worker.
//!
//! 1. An event buffer sends events under its lock: they go to the end of a queue. So the events of
//!    one track are in order.
//! 2. Then, without the lock of the event buffer, the thread delivers, unless another thread does.
//!    It takes batches out one by one and gives each to its sinks, until no batch is left.
//! 3. If another thread delivers, a worker continues: that thread gives the sinks what the worker
//!    has sent. The worker waits only if very many batches are in transit, so that a slow sink does
//!    not take all memory.
//! 4. A thread that drains waits until everything that was sent before is delivered.
//! 5. If the calling thread itself delivers, a sink has made the call. The thread waits for
//!    nothing: the batches that it has sent are delivered after the sink returns.

use std::collections::VecDeque;
use std::thread::{self, ThreadId};

use super::{Event, Sinks, Track};
use crate::panics::catch;
use crate::sync::{Condvar, Mutex};
use crate::worker::current::{Enter, Visit};

/// A worker waits if this many batches are in transit: about 10 MB.
const BATCHES_BEFORE_WAIT: usize = 256;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Delivery {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Events of one track, and the sinks that receive them.
pub(super) struct Batch {
    pub(super) track: Track,
    pub(super) events: Box<[Event]>,
    pub(super) sinks: Sinks,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// The numbers of batches that were sent, and delivered, so far.
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
        self.deliver_until(|queue| queue.batches.len() < BATCHES_BEFORE_WAIT);
    }

    /// Steps 2 and 4.
    pub(super) fn deliver_all(&self) {
        let sent = { self.queue.lock().sent };
        self.deliver_until(|queue| queue.delivered >= sent);
    }

    /// Delivers. If another thread delivers, waits for it until `enough` is true.
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
        // A worker may be in the middle of a spawn. Until the sinks return, this thread can use no
        // runtime.
        let (_no_worker, _visit) = (Enter::none(), Visit::of_sinks());
        // A worker must not unwind.
        self.sinks.iter().for_each(|sink| drop(catch(|| sink.take(self.track, &self.events))));
        // This may drop the last reference to a sink.
        drop(catch(|| drop(self)));
    }
}
