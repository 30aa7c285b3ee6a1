//! How a thread waits that is perhaps no worker: a session's.
//!
//! A worker, of whatever runtime, goes on with its own work meanwhile. Any other thread sits down on a bench: a seat
//! with an inbox, but without a pool, on which it sleeps. There is always another bench, so nobody waits for one; they
//! live as long as the runtime, as seats must (`worker::wait`, 5).

use super::current::{self, CurrentWorker};
use super::sleep::{Idle, Sleep};
use super::wait::{Seat, Waiter};
use crate::sync::{Arc, Mutex};

/// The benches of a runtime that nobody sits on.
#[derive(Debug, Default)]
pub(crate) struct Benches(Mutex<Vec<Arc<Seat>>>);

/// Where this thread waits.
#[derive(Debug)]
pub(crate) enum Place {
    Worker(CurrentWorker),
    Bench(Arc<Seat>),
}

impl Benches {
    /// Runs `f` with a place for this thread to wait at.
    pub(crate) fn sit<R>(&self, f: impl FnOnce(&Place) -> R) -> R {
        if let Some(worker) = current::any() {
            return f(&Place::Worker(worker));
        }
        let free = { self.0.lock().pop() };
        let bench = free.unwrap_or_else(|| Arc::new(Seat::new(0, Arc::new(Sleep::new(1, Idle::Sleep)))));
        let taken = Taken(self, bench);
        f(&Place::Bench(Arc::clone(&taken.1)))
    }
}

/// A bench, given back on drop, after a panic as well: it must outlive its wakers.
struct Taken<'a>(&'a Benches, Arc<Seat>);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.0.lock().push(Arc::clone(&self.1));
    }
}

impl Place {
    /// A waiter at this place.
    pub(crate) fn waiter(&self) -> Waiter {
        match self {
            Place::Worker(CurrentWorker { worker, ops }) => {
                // SAFETY: this thread is that worker: `sit` has asked, and its `f` runs in the same place.
                let seat = unsafe { (ops.seat)(*worker) };
                // SAFETY: a worker's seat lives as long as its runtime.
                Waiter::new(unsafe { seat.as_ref() })
            }
            Place::Bench(seat) => Waiter::new(seat),
        }
    }

    /// Waits until a waiter of this place is woken.
    pub(crate) fn wait(&self, waiter: &Waiter) {
        match self {
            // SAFETY: as above.
            Place::Worker(CurrentWorker { worker, ops }) => unsafe { (ops.wait)(*worker, waiter) },
            Place::Bench(seat) => {
                if waiter.park() {
                    seat.sleep_until_delivered(waiter);
                }
            }
        }
    }
}
