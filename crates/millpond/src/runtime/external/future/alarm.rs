//! One poll of a future, and the alarm that wakes it afterwards.
//!
//! 1. Before a poll, `unmet` of the task's header is 1: a guard. No other thread has the task. The
//!    first clone of the poll's waker makes the alarm, which adds a precondition. Later clones
//!    share this alarm.
//! 2. A thread that wakes the future takes the precondition out, under a lock, and satisfies it. So
//!    this happens once.
//! 3. If the future is pending, the poller removes the guard. The thread that removes the last of
//!    the two, guard or alarm, lets the task in.
//! 4. If the future has ended, the task's header may be freed, but other threads may still have the
//!    alarm. So the poller first takes the precondition out of it. If another thread has taken it
//!    already, the poller waits until that thread has satisfied it. Then only the guard is left, so
//!    no thread lets the task in.
//! 5. If all clones are dropped and no thread has woken the future, no thread ever will. The
//!    precondition is dropped with the alarm, which marks the header as abandoned.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

use crate::sync::{Mutex, yield_thread};
use crate::task::TaskRef;

#[cfg(all(test, loom))]
mod loom_tests;

/// The precondition in an alarm, counted by the header of a task.
pub(in crate::runtime) trait Rings: Send + 'static {
    /// A precondition that is counted.
    fn of(task: TaskRef) -> Self;

    /// Satisfies the precondition. If it is dropped instead, it can never be satisfied.
    fn ring(self);
}

/// Wakes a waiting future, once.
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

/// One poll of a future. Its waker is on the poller's stack, and becomes an alarm when it is
/// cloned.
pub(in crate::runtime) struct Turn<P: Rings> {
    task: TaskRef,
    alarm: OnceLock<Arc<Alarm<P>>>,
    /// The future is pending: the alarm must wake it.
    waits: bool,
}

impl<P: Rings> Drop for Turn<P> {
    /// The future has ended, successfully or not. Other threads may still have its alarm, but it
    /// has no effect from now on.
    fn drop(&mut self) {
        if self.waits {
            return;
        }
        if let Some(alarm) = self.alarm.get() {
            match alarm.0.lock().take() {
                Some(rings) => mem::forget(rings),
                // Another thread is waking the future.
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

    /// Polls the future. Also returns whether there is an alarm, which may wake the future if it is
    /// pending.
    pub(in crate::runtime) fn poll<F: Future>(task: TaskRef, future: Pin<&mut F>) -> (Poll<F::Output>, bool) {
        task.header().only_one_unmet();
        let mut turn = Turn::<P> { task, alarm: OnceLock::new(), waits: false };
        // SAFETY: the functions below keep the contract. A future gets a reference to the waker,
        // which ends with the poll.
        let waker = unsafe { Waker::new((&raw const turn).cast(), &Self::WAKER) };
        let polled = future.poll(&mut Context::from_waker(&waker));
        turn.waits = polled.is_pending();
        (polled, turn.alarm.get().is_some())
    }

    fn alarm(&self) -> &Arc<Alarm<P>> {
        self.alarm.get_or_init(|| {
            // The guard is present during the whole poll.
            self.task.header().add_unmet();
            Arc::new(Alarm(Mutex::new(Some(P::of(self.task)))))
        })
    }

    /// # Safety
    ///
    /// `turn` belongs to the poll that made the waker, and that poll has not returned.
    unsafe fn clone(turn: *const ()) -> RawWaker {
        // SAFETY: as the caller promises.
        let turn = unsafe { &*turn.cast::<Self>() };
        let clone = mem::ManuallyDrop::new(Waker::from(Arc::clone(turn.alarm())));
        RawWaker::new(clone.data(), clone.vtable())
    }

    /// # Safety
    ///
    /// As for `clone`.
    unsafe fn wake(turn: *const ()) {
        // SAFETY: as the caller promises.
        unsafe { &*turn.cast::<Self>() }.alarm().wake_by_ref();
    }
}
