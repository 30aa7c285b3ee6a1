//! Queues that several workers use at once (TP §4.2, §4.3): behind one lock, with one for each end, with one for each
//! task.

use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

use super::lock::{Guarded, LockKind};
use super::queue::{Queue, TwoEnds};

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
    fn new(lock: LockKind) -> Self;

    /// Adds a task; whether there was none before. `TwoLock` may say `false` though a taker has just emptied the queue: a
    /// pool that wakes a sleeper only by a put into an empty queue must not have that one.
    fn put(&self, task: TaskRef) -> bool;

    /// Takes a task.
    fn take(&self) -> Option<TaskRef>;

    /// Takes the task that [`take`](Shared::take) would, if it is wanted.
    fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef>;

    /// Takes a task for another worker; and more, which are appended to `stolen_tasks`, as many as `more` says that are to be
    /// taken of so many.
    fn steal(&self, more: impl FnOnce(usize) -> usize, stolen_tasks: &mut Vec<TaskRef>) -> Option<TaskRef>;

    /// Whether there is none, without a lock: exact for who looks after a SeqCst fence, with one after the last put, and
    /// an idea otherwise.
    fn looks_empty(&self) -> bool;
}

/// The end at which others take tasks from a queue.
pub trait End<Q>: Send + Sync + 'static {
    fn take(queue: &mut Q) -> Option<TaskRef>;
}

/// That at which its owner works.
pub enum Working {}

/// The other one: the oldest tasks, which probably make the most ([TP](crate#sources) §3.5).
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

/// A queue behind one lock, which others rob at the end `E`.
pub struct Locked<Q, E = Working> {
    queue: Guarded<Q>,
    /// As the queue says, written under the lock.
    len: AtomicUsize,
    end: std::marker::PhantomData<fn() -> E>,
}

impl<Q: Queue, E> Locked<Q, E> {
    /// Calls `f` with the lock taken.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Q) -> R) -> R {
        self.queue.with(|queue| self.noting(queue, f))
    }

    /// Calls `f` with the lock taken, unless somebody has it.
    #[inline]
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut Q) -> R) -> Option<R> {
        self.queue.try_with(|queue| self.noting(queue, f))
    }

    #[inline]
    fn noting<R>(&self, queue: &mut Q, f: impl FnOnce(&mut Q) -> R) -> R {
        let result = f(queue);
        self.len.store(queue.len(), Relaxed);
        result
    }
}

/// Adds a task; whether there was none before.
#[inline]
pub(super) fn push<Q: Queue>(queue: &mut Q, task: TaskRef) -> bool {
    queue.push(task);
    queue.len() == 1
}

impl<Q: Queue + 'static, E: End<Q>> Shared for Locked<Q, E> {
    fn new(lock: LockKind) -> Self {
        Locked { queue: Guarded::new(lock, Q::default()), len: AtomicUsize::new(0), end: std::marker::PhantomData }
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
