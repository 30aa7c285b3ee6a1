//! Joins: the value of one task, for its scope.
//!
//! A join that is not complete is told of it through a watcher in its scope's list, and has one there at most:
//!
//! 1. It puts the watcher into the list, then sets WATCHED in the task's state (`task::state`). The completer sets DONE
//!    and, if it finds WATCHED, takes the watcher out and tells it. So either the join sees DONE, or the completer
//!    finds the watcher.
//! 2. A poll with the waker of the poll before leaves the watcher where it is: the completer will tell it, or tells it
//!    now, after the DONE that this poll did not see; then there is another poll.
//! 3. A poll with another waker, or `wait` after a poll, takes the old watcher back first. If it is gone, the completer
//!    has it, so DONE is set. Should the completer look between the taking back and the putting in, it finds nothing,
//!    and step 1 sees its DONE: the list's lock orders the two.
//! 4. If step 1 sees DONE, the join takes the watcher back. If it is gone (an earlier poll had set WATCHED), somebody
//!    is telling it: a waiter may not go on before it was woken.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::body::result_at;
use super::domain::Domain;
use super::watch::{Tell, Watched};
use crate::caught::catch;
use crate::engine::Engine;
use crate::engine::store::TaskStore;
use crate::error::{Error, Kind, Label};
use crate::record::{Cause, Id};
use crate::stack::{has_ended, wake_when_ended};
use crate::sync::atomic::Ordering;
use crate::task::{Header, State, TaskRef};
use crate::worker::Worker;
use crate::worker::current::{self, with_log_of_body};
use crate::worker::wait::Waiter;

#[cfg(all(test, loom))]
mod loom_tests;

/// The value of a task, once it is complete: for [`Spawn::wait`](crate::Spawn::wait), or to be awaited.
///
/// Dropping it does nothing to the task. The task's value is dropped then, or at the task's end; if that panics, the scope fails
/// with it.
///
/// It belongs to the scope that spawned the task: a body waits only for its own descendants, so waiting never deadlocks. So it
/// stays on the thread of its scope, too; a join that may move to another thread is that of a [`Session`](crate::Session).
///
/// A task that returns nothing costs nothing for its join; one that returns a value keeps its block until the join is
/// dropped. To wait, and each poll, takes constant time besides the waiting; a join wakes whoever polled it last, once.
///
/// ```
/// use millpond::{Runtime, Spawn};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let answer: Result<u32, millpond::Error> = rt.try_scope(|s| {
///     let (six, seven) = (s.spawn((), |()| 6), s.spawn((), |()| 7));
///     let six = s.wait(six)?;
///     Ok(six * s.block_on(seven)?)
/// });
/// assert_eq!(answer?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// What a join gives is the value, or the task's failure: the [`Kind`](crate::Kind) says which. A task has failed also
/// if its body ended well, but then the drop of a value panicked that the task was the last to use: what it wrote
/// stands, its value is dropped.
pub struct Join<'s, B, O> {
    /// Dropped with the join, if that is to do something.
    source: ManuallyDrop<Source<O>>,
    drops: Drops,
    /// The scope, of a join that is counted and may have nothing else to drop.
    counted: NonNull<Domain>,
    _of: PhantomData<(fn(&'s ()) -> &'s (), fn(B) -> B)>,
}

/// A brand whose joins may leave their thread: there is none. It is there for what the compiler says.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a join stays on the thread of the scope that spawned its task",
    label = "takes the join to another thread, or may do so",
    note = "wait for it in its scope and pass the value on; only the joins of `Runtime::session` may change threads"
)]
pub trait JoinsMayLeave {}

// SAFETY: nothing implements the bound, so no join is `Send`.
#[doc(hidden)]
unsafe impl<B: JoinsMayLeave, O> Send for Join<'_, B, O> {}
// SAFETY: as above: no join is `Sync`.
#[doc(hidden)]
unsafe impl<B: JoinsMayLeave, O> Sync for Join<'_, B, O> {}

/// What the drop of a join does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drops {
    Nothing,
    /// Its scope has one join less.
    Count,
    /// The source is dropped.
    Source,
}

/// Where the value is, or will be.
enum Source<O> {
    /// Of a task that ran at its spawn, with its number in the recording; and which task, if the drop of its value may run code.
    Ready(Result<O, Error>, Id, Option<Ran>),
    Task(Pending<O, OnWorker>),
    /// The same of a task in its scope's stack.
    OfFrame(Pending<O, OnWorker>, TaskRef),
    /// Of a task there that returns nothing.
    InFrame {
        domain: NonNull<Domain>,
        order: u64,
        closure: TaskRef,
        record: Id,
    },
    Taken,
}

/// A task that ran at its spawn.
struct Ran {
    domain: NonNull<Domain>,
    order: u64,
    label: Label,
}

impl<O> Source<O> {
    /// The task's number in a recording; 0 if it is not recorded.
    fn record(&self) -> Id {
        match self {
            Source::Task(pending) | Source::OfFrame(pending, _) => pending.record,
            &(Source::Ready(_, record, _) | Source::InFrame { record, .. }) => record,
            Source::Taken => 0,
        }
    }

    /// Of a task in its scope's stack: the scope, what is there, and its place in reference order.
    fn in_frame(&self) -> Option<(&Domain, TaskRef, u64)> {
        match self {
            Source::OfFrame(pending, closure) => Some((pending.domain(), *closure, pending.order)),
            // SAFETY: the scope outlives its joins.
            Source::InFrame { domain, order, closure, .. } => Some((unsafe { domain.as_ref() }, *closure, *order)),
            _ => None,
        }
    }
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
    /// Whom the watcher in the scope's list wakes, if a poll put one there.
    watching: Cell<Option<Waker>>,
    /// The task's number in a recording.
    record: Id,
    release: K,
}

/// Frees the blocks that joins kept.
pub(crate) trait Release {
    fn free(&self, task: TaskRef);

    /// Whether the task's workers do not exist in this process: then nothing is freed.
    fn is_forked(&self) -> bool {
        false
    }
}

impl<R: Release + ?Sized> Release for Arc<R> {
    fn free(&self, task: TaskRef) {
        (**self).free(task);
    }

    fn is_forked(&self) -> bool {
        (**self).is_forked()
    }
}

/// Frees on the worker of the scope, which is this thread's.
struct OnWorker {
    worker: *const (),
    free: unsafe fn(*const (), TaskRef),
    /// Ends a closure that was stolen and is done (`stack::theft`).
    pass: unsafe fn(*const (), TaskRef),
}

impl OnWorker {
    fn of<E: Engine>(worker: NonNull<Worker<E>>) -> Self {
        OnWorker { worker: worker.as_ptr().cast_const().cast(), free: free::<E>, pass: pass::<E> }
    }
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

/// # Safety
///
/// As `free`; the closure is of a scope whose body runs here.
unsafe fn pass<E: Engine>(worker: *const (), closure: TaskRef) {
    // SAFETY: as the caller promises.
    E::Tasks::pass_theft(unsafe { &*worker.cast::<Worker<E>>() }, closure);
}

impl<'s, B, O> Join<'s, B, O> {
    #[inline(always)]
    fn new(source: Source<O>, drops: Drops, counted: NonNull<Domain>) -> Self {
        Join { source: ManuallyDrop::new(source), drops, counted, _of: PhantomData }
    }

    /// Of the task that was spawned last in `domain`, and ran at its spawn.
    #[inline(always)]
    pub(crate) fn ready(result: Result<O, Error>, record: Id, domain: &Domain, label: impl FnOnce() -> Label) -> Self {
        let drops = if mem::needs_drop::<O>() || result.is_err() { Drops::Source } else { Drops::Nothing };
        let ran = || Ran { domain: domain.into(), order: domain.last_order(), label: label() };
        let ran = if const { mem::needs_drop::<O>() } { Some(ran()) } else { None };
        Join::new(Source::Ready(result, record, ran), drops, NonNull::dangling())
    }

    #[inline]
    pub(crate) fn to_task<S, F, E: Engine>(spawned: Spawned, worker: NonNull<Worker<E>>) -> Self {
        let pending = Pending::new::<S, F>(spawned, OnWorker::of(worker));
        pending.domain().count_join();
        let drops = if spawned.counted { Drops::Source } else { Drops::Count };
        Join::new(Source::Task(pending), drops, spawned.domain)
    }

    /// The same, of a task for which `closure` stands in a stack.
    pub(crate) fn of_frame<S, F, E: Engine>(spawned: Spawned, closure: TaskRef, worker: NonNull<Worker<E>>) -> Self {
        let pending = Pending::new::<S, F>(spawned, OnWorker::of(worker));
        pending.domain().count_join();
        Join::new(Source::OfFrame(pending, closure), Drops::Source, NonNull::dangling())
    }

    /// The join of a task that returns nothing, which a stack holds.
    #[inline(always)]
    pub(crate) fn in_frame(closure: TaskRef, record: Id) -> Self {
        debug_assert!(!must_count::<O>());
        let (domain, order) = (closure.header().domain(), closure.header().order());
        Join::new(Source::InFrame { domain, order, closure, record }, Drops::Nothing, NonNull::dangling())
    }

    /// Whether the task is complete, its descendants included. Never waits; once true it stays so, and
    /// [`Spawn::wait`](crate::Spawn::wait) returns at once.
    pub fn is_done(&self) -> bool {
        match &*self.source {
            Source::Ready(..) | Source::Taken => true,
            Source::Task(pending) => pending.is_done(),
            // SAFETY: the scope outlives its joins.
            Source::InFrame { domain, order, closure, .. } => has_ended(unsafe { domain.as_ref() }, *closure, *order),
            Source::OfFrame(pending, closure) => {
                pending.is_done() || has_ended(pending.domain(), *closure, pending.order)
            }
        }
    }

    pub(crate) fn wait<E: Engine>(mut self, worker: &Worker<E>, domain: &Domain) -> Result<O, Error> {
        if !self.is_done() {
            if worker.shared().is_forked() {
                return Err(Error::new(self.label(), Kind::Forked));
            }
            if let Some(kind) = worker.refuses_wait() {
                return Err(Error::new(self.label(), kind));
            }
            E::Tasks::drain_for(worker, domain, Cause::Join, self.source.record());
        }
        match &*self.source {
            Source::Task(pending) => {
                let wait = || pending.wait(worker, |waiter| worker.wait(waiter, domain));
                match pending.record {
                    0 => wait(),
                    task => with_log_of_body(&worker.log, |log| log.waits_for(Cause::Join, task, |_| wait())),
                }
            }
            source => match source.record() {
                0 => {}
                record => with_log_of_body(&worker.log, |log| log.joined(record)),
            },
        }
        self.take().expect("complete, and not taken before: the join was passed by value")
    }

    /// The task's, which is not complete.
    fn label(&self) -> Label {
        match &*self.source {
            Source::Task(pending) => pending.label(),
            Source::OfFrame(_, closure) | Source::InFrame { closure, .. } => closure.label(),
            Source::Ready(..) | Source::Taken => unreachable!("the task is complete"),
        }
    }

    /// The result, if the task is complete.
    fn take(&mut self) -> Option<Result<O, Error>> {
        if !self.is_done() {
            return None;
        }
        // The look for a failure counts it out.
        self.drops = Drops::Nothing;
        match mem::replace(&mut *self.source, Source::Taken) {
            Source::Ready(result, ..) => Some(result),
            Source::Task(pending) => Some(pending.take_here()),
            Source::OfFrame(pending, closure) => {
                if !pending.is_done() {
                    // SAFETY: the scope's body runs here, and the closure is done.
                    unsafe { (pending.release.pass)(pending.release.worker, closure) };
                }
                Some(pending.take_here())
            }
            Source::InFrame { domain, order, .. } => {
                // SAFETY: the scope outlives its joins.
                let domain = unsafe { domain.as_ref() };
                Some(match domain.take_failure(order) {
                    Some(failure) => Err(failure),
                    // SAFETY: the body returned such a value and it was forgotten (`body::keep`): no size and no drop.
                    None => Ok(unsafe { NonNull::<O>::dangling().read() }),
                })
            }
            Source::Taken => None,
        }
    }
}

impl<B, O> Drop for Join<'_, B, O> {
    /// Most joins are dropped where they are made, of tasks that ran at their spawn, or that a stack holds, and that return
    /// nothing: then no more is left of all this than a look at one word.
    #[inline]
    fn drop(&mut self) {
        match self.drops {
            Drops::Nothing => {}
            // SAFETY: the scope outlives its joins.
            Drops::Count => unsafe { self.counted.as_ref() }.uncount_join(),
            // SAFETY: this is the drop, and `source` is not used any more.
            Drops::Source => drop_source(unsafe { ManuallyDrop::take(&mut self.source) }),
        }
    }
}

/// By value: a join whose address is passed on lies in memory, also where it is dropped at once.
#[inline(never)]
fn drop_source<O>(source: Source<O>) {
    match source {
        Source::Task(pending) | Source::OfFrame(pending, _) => {
            pending.domain().uncount_join();
            drop(pending);
        }
        Source::Ready(Ok(value), _, Some(ran)) => drop_value(value, || (ran.domain, ran.order, ran.label)),
        _ => {}
    }
}

/// Drops the value of a join that is dropped. If that panics, the scope fails, by the task of the value; whenever the task ends.
fn drop_value<O>(value: O, task: impl FnOnce() -> (NonNull<Domain>, u64, Label)) {
    if let Err(caught) = catch(|| drop(value)) {
        let (domain, order, label) = task();
        // SAFETY: the scope outlives its joins.
        unsafe { domain.as_ref() }.fail(order, &caught.error(label));
    }
}

/// What a join remembers of its task, read before that is issued: afterwards it may be gone.
#[derive(Clone, Copy)]
pub(crate) struct Spawned {
    task: TaskRef,
    usage: u64,
    order: u64,
    domain: NonNull<Domain>,
    record: Id,
    counted: bool,
}

impl Spawned {
    /// `counted`: the task keeps its block for the join.
    #[inline(always)]
    pub(crate) fn new(task: TaskRef, counted: bool) -> Self {
        let header = task.header();
        let (usage, record) = (header.state().usage(), task.record_id());
        Spawned { task, usage, order: header.order(), domain: header.domain(), record, counted }
    }
}

impl Spawned {
    /// The task's number in a recording.
    pub(crate) fn record(&self) -> Id {
        self.record
    }
}

impl<O, K: Release> Pending<O, K> {
    #[inline]
    pub(crate) fn new<S, F>(spawned: Spawned, release: K) -> Self {
        let Spawned { task, usage, order, domain, record, counted } = spawned;
        // A counted task keeps its block, and such is every task with a result.
        let result = if must_count::<O>() { Some(result_at::<S, F, O>(task)) } else { None };
        let watching = Cell::new(None);
        Pending { task: task.0, usage, order, domain, counted, result, watching, record, release }
    }

    fn state(&self) -> &State {
        // SAFETY: a counted task's block is kept for the join; else the manager keeps the first word of a block a state
        // (`Memory::largest_stable`). The rest of the header may be another task's by now, so no reference to it is made.
        unsafe { Header::state_at(self.task).as_ref() }
    }

    /// The result was awaited, and is there: tells the recording.
    #[inline]
    pub(crate) fn note_joined(&self) {
        if self.record != 0 {
            current::log(|log| log.joined(self.record));
        }
    }

    /// Why there will be no result, if that is so.
    pub(crate) fn never(&self) -> Option<Error> {
        (self.release.is_forked() && !self.is_done()).then(|| Error::new(self.label(), Kind::Forked))
    }

    /// The task's, which is not complete.
    pub(crate) fn label(&self) -> Label {
        TaskRef(self.task).label()
    }

    /// Whether the task is of this scope.
    pub(crate) fn is_of(&self, domain: &Domain) -> bool {
        self.domain == NonNull::from(domain)
    }

    /// The task; of a session, it stays as long as this.
    pub(crate) fn task(&self) -> TaskRef {
        TaskRef(self.task)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state().is_done(self.usage)
    }

    /// Cancels a session's task.
    pub(crate) fn cancel(&self) {
        debug_assert!(self.counted, "a session's task keeps its block for its join");
        if !self.is_done() {
            TaskRef(self.task).header().cancel();
            // After that: who sees the count looks at the task.
            self.domain().cancels().fetch_add(1, Ordering::Release);
        }
    }

    /// Waits until the task is complete, on `worker`, by `wait`.
    pub(crate) fn wait<E: Engine>(&self, worker: &Worker<E>, wait: impl FnOnce(&Waiter)) {
        if self.is_done() || !self.unwatch() {
            return;
        }
        let waiter = Waiter::new(worker.seat());
        if self.watch(Tell::Waiter((&waiter).into())) {
            wait(&waiter);
        }
    }

    /// Wakes a future when the task is complete, and no longer whom the poll before named; false if it is.
    pub(crate) fn wake_when_done(&self, waker: &Waker) -> bool {
        let watching = self.watching.take();
        let same = watching.as_ref().is_some_and(|watching| watching.will_wake(waker));
        self.watching.set(watching);
        if same {
            return true;
        }
        if !self.unwatch() {
            return false;
        }
        // Both clones first: they may run any code.
        let (told, kept) = (waker.clone(), waker.clone());
        let will_be_told = self.watch(Tell::Waker(told));
        if will_be_told {
            self.watching.set(Some(kept));
        }
        will_be_told
    }

    /// Takes an earlier poll's watcher back; false if the task is complete, the completer having it.
    fn unwatch(&self) -> bool {
        self.watching.take().is_none() || self.domain().watchers().take_back(self.watched())
    }

    /// Asks to be told of the completion, no watcher being in the list; false if the task is complete and nobody will
    /// tell.
    fn watch(&self, tell: Tell) -> bool {
        self.domain().watchers().put(self.watched(), tell);
        self.state().watch(self.usage) || !self.domain().watchers().take_back(self.watched())
    }

    fn watched(&self) -> Watched {
        (self.task, self.usage)
    }

    fn domain(&self) -> &Domain {
        // SAFETY: the scope outlives its joins.
        unsafe { self.domain.as_ref() }
    }

    /// The scope forgets the task's failure, since this join was the only one to ask for it.
    #[inline]
    fn forget_failure(&self) {
        if !self.domain().is_usual() {
            drop(self.domain().take_failure(self.order));
        }
    }

    /// As `take`, of a scope's join, on its thread.
    fn take_here(self) -> Result<O, Error> {
        let failure = self.domain().end_join(self.order);
        self.take_with(failure)
    }

    /// The result of a complete task of a session.
    pub(crate) fn take(self) -> Result<O, Error> {
        let failure = self.domain().take_failure(self.order);
        self.take_with(failure)
    }

    /// A task may fail after its body: it was the last to use a value whose drop panicked. Then only the scope knows.
    fn take_with(mut self, failure: Option<Error>) -> Result<O, Error> {
        // The drop lets go of the block.
        match self.result.take() {
            Some(result) => {
                // SAFETY: the task is complete and counted, so its result is there; it is taken once.
                let result = unsafe { result.read() };
                match (result, failure) {
                    (Ok(value), Some(failure)) => {
                        // The task has failed already.
                        let _ = catch(|| drop(value));
                        Err(failure)
                    }
                    (result, _) => result,
                }
            }
            // SAFETY: the body returned such a value and it was forgotten (`body::keep`): it has no size and no drop.
            None => failure.map_or_else(|| Ok(unsafe { NonNull::<O>::dangling().read() }), Err),
        }
    }
}

impl<O, K: Release> Drop for Pending<O, K> {
    fn drop(&mut self) {
        if self.counted && !self.release.is_forked() && self.state().drop_join() {
            let task = TaskRef(self.task);
            if let Some(result) = self.result {
                // SAFETY: the task was complete before, so its result, which was not taken, is there.
                drop_value(unsafe { result.read() }, || (self.domain, self.order, task.label()));
            }
            self.release.free(task);
            self.forget_failure();
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
        if let Source::Task(pending) = &*this.source
            && !pending.is_done()
            && pending.wake_when_done(context.waker())
        {
            // There is a waker to drop.
            this.drops = Drops::Source;
            current::step_back();
            return Poll::Pending;
        }
        if let Some((domain, closure, order)) = this.source.in_frame()
            && !this.is_done()
            && wake_when_ended(domain, closure, order, context.waker())
        {
            current::step_back();
            return Poll::Pending;
        }
        match this.source.record() {
            0 => {}
            record => current::log(|log| log.joined(record)),
        }
        Poll::Ready(this.take().expect("a join is not polled after it was ready"))
    }
}

impl<B, O> std::fmt::Debug for Join<'_, B, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join").field("done", &self.is_done()).finish_non_exhaustive()
    }
}
