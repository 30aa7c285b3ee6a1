//! One poll of a future, and the alarm that wakes it afterwards.
//!
//! 1. Before a poll, `unmet` of the task's header is 1, a guard: nobody knows the task. The first clone of the poll's
//!    waker makes the alarm, which adds a precondition. Later clones are the same alarm.
//! 2. Whoever wakes takes the precondition out, under a lock, and meets it: so that is done once.
//! 3. If the future is pending, the poller takes the guard away. Whoever meets the last precondition, of the guard and
//!    the alarm, lets the task in.
//! 4. If the future has ended, the task's header may go, but others may still have the alarm. The poller takes the
//!    precondition out of it; if somebody has taken it already, it waits until that one has met it: the guard is what
//!    is left then, so nobody lets the task in.
//! 5. If all clones are gone and nobody has woken the future, nobody ever will: the precondition is dropped with the
//!    alarm, which says so in the header.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

use crate::sync::{Mutex, yield_thread};
use crate::task::TaskRef;

#[cfg(all(test, loom))]
mod loom_tests;

/// What an alarm is: a precondition of a task, that its header counts.
pub(in crate::runtime) trait Rings: Send + 'static {
    /// One that is counted.
    fn of(task: TaskRef) -> Self;

    /// It is met. Dropped instead, it will never be.
    fn ring(self);
}

/// What wakes a future that waits, once.
#[derive(Debug)]
struct Alarm<P>(Mutex<Option<P>>);

impl<P: Rings> Wake for Alarm<P> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let rings = self.0.lock().take();
        rings.into_iter().for_each(P::ring);
    }
}

/// One poll of a future: its waker lies on the poller's stack, and becomes an alarm when it is cloned.
pub(in crate::runtime) struct Turn<P: Rings> {
    task: TaskRef,
    alarm: OnceLock<Arc<Alarm<P>>>,
    /// The future is pending: the alarm is to wake it.
    waits: bool,
}

impl<P: Rings> Drop for Turn<P> {
    /// The future has ended, well or not: its alarm, which others may still have, means nothing any more.
    fn drop(&mut self) {
        if self.waits {
            return;
        }
        if let Some(alarm) = self.alarm.get() {
            match alarm.0.lock().take() {
                Some(rings) => mem::forget(rings),
                // Somebody is waking it.
                None => {
                    while !self.task.header().only_one_is_unmet() {
                        yield_thread()
                    }
                }
            }
        }
    }
}

impl<P: Rings> Turn<P> {
    const WAKER: RawWakerVTable = RawWakerVTable::new(Self::clone, Self::wake, Self::wake, |_| ());

    /// Polls; whether there is an alarm, which may wake it if it is pending.
    pub(in crate::runtime) fn poll<F: Future>(task: TaskRef, future: Pin<&mut F>) -> (Poll<F::Output>, bool) {
        task.header().only_one_unmet();
        let mut turn = Turn::<P> { task, alarm: OnceLock::new(), waits: false };
        // SAFETY: the functions below keep the contract; a future gets a reference to the waker, which ends with the poll.
        let waker = unsafe { Waker::new((&raw const turn).cast(), &Self::WAKER) };
        let polled = future.poll(&mut Context::from_waker(&waker));
        turn.waits = polled.is_pending();
        (polled, turn.alarm.get().is_some())
    }

    fn alarm(&self) -> &Arc<Alarm<P>> {
        self.alarm.get_or_init(|| {
            // The guard is there as long as the poll takes.
            self.task.header().add_unmet();
            Arc::new(Alarm(Mutex::new(Some(P::of(self.task)))))
        })
    }

    /// # Safety
    ///
    /// `turn` is the poll's that the waker was made for, which is not over.
    unsafe fn clone(turn: *const ()) -> RawWaker {
        // SAFETY: as the caller promises.
        let turn = unsafe { &*turn.cast::<Self>() };
        let clone = mem::ManuallyDrop::new(Waker::from(Arc::clone(turn.alarm())));
        RawWaker::new(clone.data(), clone.vtable())
    }

    /// # Safety
    ///
    /// As `clone`.
    unsafe fn wake(turn: *const ()) {
        // SAFETY: as the caller promises.
        unsafe { &*turn.cast::<Self>() }.alarm().wake_by_ref();
    }
}
