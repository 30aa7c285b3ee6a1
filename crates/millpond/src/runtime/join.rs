//! Joins: the value of one task, for its scope.

use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use super::body::result_at;
use super::domain::{Domain, Tell, Watcher};
use super::engine::Engine;
use crate::error::Error;
use crate::task::{Header, TaskRef};
use crate::worker::Worker;
use crate::worker::current;
use crate::worker::wait::Waiter;

#[cfg(all(test, loom))]
mod loom_tests;

/// The value of a task, once it is complete: for [`Spawn::wait`](crate::Spawn::wait), or to be awaited.
///
/// Dropping it does nothing to the task. It belongs to the scope that spawned the task: a body waits only for its
/// own descendants, so waiting never deadlocks.
///
/// A task that returns nothing costs nothing for its join; one that returns a value keeps its block until the join is
/// dropped.
pub struct Join<'s, B, O> {
    source: Source<O>,
    _of: PhantomData<(fn(&'s ()) -> &'s (), fn(B) -> B, *const ())>,
}

/// Where the value is, or will be.
enum Source<O> {
    Ready(Result<O, Error>),
    Task(Pending<O, OnWorker>),
    Taken,
}

/// A task that was not complete at its spawn.
pub(crate) struct Pending<O, K: Release> {
    task: NonNull<Header>,
    usage: u64,
    order: u64,
    domain: NonNull<Domain>,
    /// Whether the task keeps its block for this join.
    counted: bool,
    /// Where the result will be, if it needs room.
    result: Option<NonNull<Result<O, Error>>>,
    release: K,
}

/// Frees the blocks that joins kept.
pub(crate) trait Release {
    fn free(&self, task: TaskRef);
}

impl<R: Release + ?Sized> Release for Box<R> {
    fn free(&self, task: TaskRef) {
        (**self).free(task);
    }
}

/// Frees on the worker of the scope, which is this thread's.
struct OnWorker {
    worker: *const (),
    free: unsafe fn(*const (), TaskRef),
}

impl Release for OnWorker {
    fn free(&self, task: TaskRef) {
        // SAFETY: a scope's join stays on the scope's thread, whose worker this is.
        unsafe { (self.free)(self.worker, task) }
    }
}

/// Whether a block must be kept for the value. A value without size and drop can be made up again.
pub(crate) const fn must_count<O>() -> bool {
    size_of::<O>() != 0 || mem::needs_drop::<O>()
}

/// # Safety
///
/// `worker` is a `Worker<E>` whose seat this thread holds; the task is complete, its result taken.
unsafe fn free<E: Engine>(worker: *const (), task: TaskRef) {
    // SAFETY: as the caller promises.
    unsafe { &*worker.cast::<Worker<E>>() }.free(task);
}

impl<'s, B, O> Join<'s, B, O> {
    pub(crate) fn ready(result: Result<O, Error>) -> Self {
        Join { source: Source::Ready(result), _of: PhantomData }
    }

    pub(crate) fn to_task<S, F, E: Engine>(task: TaskRef, counted: bool, worker: NonNull<Worker<E>>) -> Self {
        let release = OnWorker { worker: worker.as_ptr().cast_const().cast(), free: free::<E> };
        Join { source: Source::Task(Pending::new::<S, F>(task, counted, release)), _of: PhantomData }
    }

    /// Whether the task is complete.
    pub fn is_done(&self) -> bool {
        match &self.source {
            Source::Ready(_) | Source::Taken => true,
            Source::Task(pending) => pending.is_done(),
        }
    }

    pub(crate) fn wait<E: Engine>(mut self, worker: &Worker<E>, domain: &Domain) -> Result<O, Error> {
        if let Source::Task(pending) = &self.source {
            pending.wait(worker, domain);
        }
        self.take().expect("complete, and not taken before: the join was passed by value")
    }

    /// The result, if the task is complete.
    fn take(&mut self) -> Option<Result<O, Error>> {
        if !self.is_done() {
            return None;
        }
        match mem::replace(&mut self.source, Source::Taken) {
            Source::Ready(result) => Some(result),
            Source::Task(pending) => Some(pending.take()),
            Source::Taken => None,
        }
    }
}

impl<O, K: Release> Pending<O, K> {
    pub(crate) fn new<S, F>(task: TaskRef, counted: bool, release: K) -> Self {
        let header = task.header();
        Pending {
            task: task.0,
            usage: header.state().usage(),
            order: header.order(),
            domain: header.domain(),
            counted,
            result: must_count::<O>().then(|| result_at::<S, F, O>(task)),
            release,
        }
    }

    fn header(&self) -> &Header {
        // SAFETY: a counted task's block is kept for the join; else the manager keeps the first word of a block one
        // (`Memory::TYPE_STABLE`), and only that word is looked at.
        unsafe { self.task.as_ref() }
    }

    /// Whether the task is of this scope.
    pub(crate) fn is_of(&self, domain: &Domain) -> bool {
        self.domain == NonNull::from(domain)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.header().state().is_done(self.usage)
    }

    pub(crate) fn wait<E: Engine>(&self, worker: &Worker<E>, domain: &Domain) {
        if self.is_done() {
            return;
        }
        let waiter = Waiter::new(worker.seat());
        if self.watch(Tell::Waiter((&waiter).into())) {
            worker.wait(&waiter, domain);
        }
    }

    /// Wakes a future when the task is complete; false if it is.
    pub(crate) fn wake_when_done(&self, waker: &Waker) -> bool {
        self.watch(Tell::Waker(waker.clone()))
    }

    /// Asks to be told of the completion; false if the task is complete and nobody will tell.
    fn watch(&self, tell: Tell) -> bool {
        // SAFETY: the scope outlives its joins.
        let domain = unsafe { self.domain.as_ref() };
        domain.watch(Watcher { task: self.task, usage: self.usage, tell });
        // Complete, and yet told: if an earlier poll watched too, the completer may have found both watchers.
        self.header().state().watch(self.usage) || !domain.unwatch(self.task, self.usage)
    }

    /// The result of a complete task.
    pub(crate) fn take(mut self) -> Result<O, Error> {
        // The drop lets go of the block.
        match self.result.take() {
            // SAFETY: the task is complete and counted, so its result is there; it is taken once.
            Some(result) => unsafe { result.read() },
            None => self.make_up(),
        }
    }

    /// The result of a complete task whose value has no size.
    fn make_up(&self) -> Result<O, Error> {
        // SAFETY: the scope outlives its joins.
        let failure = unsafe { self.domain.as_ref() }.failure(self.order);
        // SAFETY: the body returned such a value and it was forgotten (`body::keep`): it has no size and no drop.
        failure.map_or_else(|| Ok(unsafe { NonNull::<O>::dangling().read() }), Err)
    }
}

impl<O, K: Release> Drop for Pending<O, K> {
    fn drop(&mut self) {
        if self.counted && self.header().state().drop_join() {
            // SAFETY: the task was complete before, so its result, unless taken, is there.
            let result = self.result.map(|result| unsafe { result.read() });
            self.release.free(TaskRef(self.task));
            drop(result);
        }
    }
}

impl<B, O> Unpin for Join<'_, B, O> {}

impl<B, O> Future for Join<'_, B, O> {
    type Output = Result<O, Error>;

    /// # Panics
    ///
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Source::Task(pending) = &this.source
            && !pending.is_done()
            && pending.wake_when_done(context.waker())
        {
            // Whoever polls may block the worker's thread, so others must be able to find the task.
            if let Some(current) = current::any() {
                // SAFETY: this thread is that worker.
                unsafe { (current.ops.expose)(current.worker) };
            }
            return Poll::Pending;
        }
        Poll::Ready(this.take().expect("a join is not polled after it was ready"))
    }
}

impl<B, O> std::fmt::Debug for Join<'_, B, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join").field("done", &self.is_done()).finish_non_exhaustive()
    }
}
