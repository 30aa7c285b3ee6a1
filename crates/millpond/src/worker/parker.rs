//! How a thread waits for a session. The thread may or may not be a worker.
//!
//! A worker, of any runtime, lends its seat or suspends the waiting body (`worker::stay`). It runs
//! the session's tasks on that body's stack only if the body waits for all of them. Other tasks may
//! wait for what the body does next. A worker of another runtime is abroad (`worker::wait`, 6).
//!
//! Any other thread sleeps on a parker: a mailbox of its own, without a worker. If no parker is
//! free, the thread makes one, so no thread waits for a parker. Parkers live as long as the
//! runtime, as mailboxes must (`worker::wait`, 5).

use super::Awaited;
use super::current::{self, CurrentWorker};
use super::sleep::{Idle, Sleep};
use super::wait::{Mailbox, Waiter};
use crate::sync::{Arc, Mutex};

/// The free parkers of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Parkers(Mutex<Vec<Arc<Mailbox>>>);

/// Where this thread waits.
#[derive(Debug)]
pub(crate) enum WaitPlace {
    /// A worker of the runtime in which it waits.
    Worker(CurrentWorker),
    /// A worker of another runtime.
    Abroad(CurrentWorker),
    Parker(Arc<Mailbox>),
}

impl Parkers {
    /// Runs `f` with a place for this thread to wait at, in the runtime `runtime_id`. These are the
    /// parkers of that runtime.
    pub(crate) fn sit<R>(&self, runtime_id: u64, f: impl FnOnce(&WaitPlace) -> R) -> R {
        if let Some(worker) = current::any() {
            let at_home = current::is_of(runtime_id);
            return f(&if at_home { WaitPlace::Worker(worker) } else { WaitPlace::Abroad(worker) });
        }
        let free = { self.0.lock().pop() };
        let parker = free.unwrap_or_else(|| Arc::new(Mailbox::new(0, Arc::new(Sleep::new(1, Idle::Sleep)))));
        let taken = Taken(self, parker);
        f(&WaitPlace::Parker(Arc::clone(&taken.1)))
    }
}

/// A parker in use. The drop gives it back, also after a panic: it must outlive its wakers.
struct Taken<'a>(&'a Parkers, Arc<Mailbox>);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.0.lock().push(Arc::clone(&self.1));
    }
}

fn mailbox_of(at: &CurrentWorker) -> &Mailbox {
    // SAFETY: this thread is that worker. `sit` has checked that, and calls `f` on the same thread.
    let mailbox = unsafe { (at.ops.mailbox)(at.worker) };
    // SAFETY: a worker's mailbox lives as long as its runtime.
    unsafe { mailbox.as_ref() }
}

impl WaitPlace {
    /// Returns a waiter at this place.
    pub(crate) fn waiter(&self) -> Waiter {
        match self {
            WaitPlace::Worker(at) => Waiter::new(mailbox_of(at)),
            WaitPlace::Abroad(at) => Waiter::abroad(mailbox_of(at)),
            WaitPlace::Parker(mailbox) => Waiter::new(mailbox),
        }
    }

    /// Waits until a waiter of this place is woken. The `awaited` tasks lead to that.
    pub(crate) fn wait(&self, waiter: &Waiter, awaited: Awaited) {
        match self {
            // SAFETY: as above.
            WaitPlace::Worker(at) => unsafe { (at.ops.wait)(at.worker, waiter, awaited) },
            WaitPlace::Abroad(at) => {
                // SAFETY: as above.
                unsafe { (at.ops.wait)(at.worker, waiter, Awaited::Others) };
                waiter.return_home();
            }
            WaitPlace::Parker(mailbox) => {
                if waiter.park() {
                    mailbox.sleep_until_delivered(waiter);
                }
            }
        }
    }
}
