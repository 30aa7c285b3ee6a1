//! Queues that several workers use at once (TP §4.2, §4.3): with one lock, with a lock for each
//! end, or with a lock for each task.

use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

use super::lock::Guarded;
use super::queue::{Queue, TwoEnds};
use super::settings::Settings;

#[cfg(all(test, loom))]
mod loom_tests;
mod per_task;
#[cfg(all(test, not(loom)))]
mod tests;
mod two_lock;

pub(crate) use per_task::{Fifo, Lifo, PerTask};
pub(crate) use two_lock::TwoLock;

/// A queue for several workers. `take` is at its working end.
pub trait Shared: Send + Sync + Sized + 'static {
    /// The same as [`Queue::HAS_CAPACITY`].
    const HAS_CAPACITY: bool = false;

    fn new(settings: &Settings) -> Self;

    /// Adds a task. Returns whether the queue was empty before. `TwoLock` may return `false`
    /// although a taker has just emptied the queue. So a pool that wakes a sleeper only for a put
    /// into an empty queue must not use it.
    fn put(&self, task: TaskRef) -> bool;

    /// Takes a task.
    fn take(&self) -> Option<TaskRef>;

    /// Takes the task that [`take`](Shared::take) would take, if it is `wanted`.
    fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef>;

    /// Takes a task for another worker, and appends further tasks to `stolen_tasks`. `more` says
    /// how many further tasks to take from a queue of a given length.
    fn steal(&self, more: impl FnOnce(usize) -> usize, stolen_tasks: &mut Vec<TaskRef>) -> Option<TaskRef>;

    /// Whether the queue is empty, without a lock. The answer is exact if a SeqCst fence follows
    /// the last put and another one precedes this call, and otherwise an estimate.
    fn looks_empty(&self) -> bool;
}

/// The end of a queue at which other workers take tasks.
pub trait End<Q>: Send + Sync + 'static {
    fn take(queue: &mut Q) -> Option<TaskRef>;
}

/// The end at which the owner works.
pub enum Working {}

/// The other end: the oldest tasks, which probably make the most work ([TP](crate#sources) §3.5).
pub enum Opposite {}

impl<Q: Queue> End<Q> for Working {
    #[inline]
    fn take(queue: &mut Q) -> Option<TaskRef> {
        queue.pop()
    }
}

impl<Q: TwoEnds> End<Q> for Opposite {
    #[inline]
    fn take(queue: &mut Q) -> Option<TaskRef> {
        queue.pop_oldest()
    }
}

/// A queue behind one lock. Other workers steal at the end `E`.
pub struct Locked<Q, E = Working> {
    queue: Guarded<Q>,
    /// The length of the queue, written under the lock.
    len: AtomicUsize,
    end: std::marker::PhantomData<fn() -> E>,
}

impl<Q: Queue, E> Locked<Q, E> {
    /// Calls `f` under the lock.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Q) -> R) -> R {
        self.queue.with(|queue| self.noting(queue, f))
    }

    /// Calls `f` under the lock, but only if the lock is free.
    #[inline]
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut Q) -> R) -> Option<R> {
        self.queue.try_with(|queue| self.noting(queue, f))
    }

    /// See [`Queue::places`].
    #[cfg(all(test, not(loom)))]
    pub(super) fn places(&self) -> Vec<usize> {
        self.with(|queue| queue.places())
    }

    #[inline]
    fn noting<R>(&self, queue: &mut Q, f: impl FnOnce(&mut Q) -> R) -> R {
        let result = f(queue);
        self.len.store(queue.len(), Relaxed);
        result
    }
}

/// Adds a task. Returns whether the queue was empty before.
#[inline]
pub(super) fn push<Q: Queue>(queue: &mut Q, task: TaskRef) -> bool {
    queue.push(task);
    queue.len() == 1
}

impl<Q: Queue + 'static, E: End<Q>> Shared for Locked<Q, E> {
    const HAS_CAPACITY: bool = Q::HAS_CAPACITY;

    fn new(settings: &Settings) -> Self {
        let queue = Guarded::new(settings.params.lock, Q::new(settings));
        Locked { queue, len: AtomicUsize::new(0), end: std::marker::PhantomData }
    }

    #[inline]
    fn put(&self, task: TaskRef) -> bool {
        self.with(|queue| push(queue, task))
    }

    #[inline]
    fn take(&self) -> Option<TaskRef> {
        self.with(Q::pop)
    }

    #[inline]
    fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.with(|queue| if queue.newest().is_some_and(wanted) { queue.pop() } else { None })
    }

    fn steal(&self, more: impl FnOnce(usize) -> usize, stolen_tasks: &mut Vec<TaskRef>) -> Option<TaskRef> {
        self.with(|queue| {
            let more = more(queue.len());
            let first = E::take(queue)?;
            stolen_tasks.extend((0..more).map_while(|_| E::take(queue)));
            Some(first)
        })
    }

    #[inline]
    fn looks_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}
