//! Joins: the value of one task, for its scope. Most tasks have run at their spawn, or are in a
//! stack. For the others, see [`pending`].

use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::error::{Error, Kind, Label};
use crate::record::{Cause, Id};
use crate::runtime::engine::Engine;
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::current::{self, with_log_of_body};
use crate::worker::engine::store::TaskStore;
use crate::worker::scope_state::ScopeState;

pub(crate) use all::Gathered;
pub use all::SessionJoins;
use pending::drop_value;
pub(crate) use pending::{Pending, Release, Spawned, must_count};

mod all;
mod pending;

/// The value of a task once it is complete, for [`Spawn::wait`](crate::Spawn::wait) or for `await`.
///
/// Dropping a join does not affect the task. The task's value is dropped with the join, or when the
/// task is complete. If that drop panics, the scope fails.
///
/// A join belongs to the scope that spawned the task. A body waits only for its own descendants, so
/// that waiting never deadlocks. Therefore the join stays on its scope's thread. To move a join to
/// another thread, use a [`Session`](crate::Session).
///
/// The join of a task that returns nothing is free. A task that returns a value keeps its block
/// until the join is dropped. A poll takes constant time, and so does a wait, apart from the
/// blocking. A join wakes only the last caller that polled it, once.
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
/// A join gives the value, or the task's failure: see [`Kind`](crate::Kind). A task also fails if
/// its body succeeds, but dropping a value that it was the last to use panics. Then its writes
/// remain, and its returned value is dropped.
pub struct Join<'s, B, O> {
    /// Dropped with the join, if that drop has an effect.
    source: ManuallyDrop<Source<O>>,
    drops: Drops,
    /// The scope, if the join is counted and may have nothing else to drop.
    counted: NonNull<ScopeState>,
    _of: PhantomData<(fn(&'s ()) -> &'s (), fn(B) -> B)>,
}

/// A brand whose joins may leave their thread. No type implements it; it only serves the compiler's
/// message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a join stays on the thread of the scope that spawned its task",
    label = "takes the join to another thread, or may do so",
    note = "wait for it in its scope and pass the value on; only the joins of `Runtime::session` may change threads"
)]
pub trait JoinsMayLeave {}

// SAFETY: no type implements the bound, so no join is `Send`.
#[doc(hidden)]
unsafe impl<B: JoinsMayLeave, O> Send for Join<'_, B, O> {}
// SAFETY: as above: no join is `Sync`.
#[doc(hidden)]
unsafe impl<B: JoinsMayLeave, O> Sync for Join<'_, B, O> {}

/// The effect of dropping a join.
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
    /// A task that ran at its spawn: its result and its number in the recording. Also the task, if
    /// the drop of its value may run code.
    Ready(Result<O, Error>, Id, Option<InlineTask>),
    Task(Pending<O, OnWorker>),
    /// The same, for a task in its scope's stack.
    OfFrame(Pending<O, OnWorker>, TaskRef),
    /// A task in its scope's stack that returns nothing.
    InFrame {
        scope_state: NonNull<ScopeState>,
        order: u64,
        closure: TaskRef,
        record: Id,
    },
    Taken,
}

/// A task that ran at its spawn.
struct InlineTask {
    scope_state: NonNull<ScopeState>,
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

    /// For a task in its scope's stack: the scope, the closure, and its place in reference order.
    fn in_frame(&self) -> Option<(&ScopeState, TaskRef, u64)> {
        match self {
            Source::OfFrame(pending, closure) => Some((pending.scope_state(), *closure, pending.order)),
            Source::InFrame { scope_state, order, closure, .. } => {
                // SAFETY: the scope outlives its joins.
                let scope_state = unsafe { scope_state.as_ref() };
                Some((scope_state, *closure, *order))
            }
            _ => None,
        }
    }
}

/// Frees blocks on this thread's worker, which runs the scope.
struct OnWorker {
    worker: *const (),
    free: unsafe fn(*const (), TaskRef),
    /// Ends a stolen closure that is complete (`stack::thief::theft`).
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

/// # Safety
///
/// `worker` is a `Worker<E>` whose seat this thread holds. The task is complete, and its result was
/// taken.
unsafe fn free<E: Engine>(worker: *const (), task: TaskRef) {
    // SAFETY: as the caller promises.
    unsafe { &*worker.cast::<Worker<E>>() }.free(task);
}

/// # Safety
///
/// As for `free`. The closure belongs to a scope whose body runs here.
unsafe fn pass<E: Engine>(worker: *const (), closure: TaskRef) {
    // SAFETY: as the caller promises.
    E::Tasks::pass_theft(unsafe { &*worker.cast::<Worker<E>>() }, closure);
}

impl<'s, B, O> Join<'s, B, O> {
    #[inline(always)]
    fn new(source: Source<O>, drops: Drops, counted: NonNull<ScopeState>) -> Self {
        Join { source: ManuallyDrop::new(source), drops, counted, _of: PhantomData }
    }

    /// The join of the last task spawned in `scope_state`, which ran at its spawn.
    #[inline(always)]
    pub(crate) fn ready(
        result: Result<O, Error>,
        record: Id,
        scope_state: &ScopeState,
        label: impl FnOnce() -> Label,
    ) -> Self {
        let drops = if mem::needs_drop::<O>() || result.is_err() { Drops::Source } else { Drops::Nothing };
        let task = || InlineTask { scope_state: scope_state.into(), order: scope_state.last_order(), label: label() };
        let task = if const { mem::needs_drop::<O>() } { Some(task()) } else { None };
        Join::new(Source::Ready(result, record, task), drops, NonNull::dangling())
    }

    #[inline]
    pub(crate) fn to_task<S, F, E: Engine>(spawned: Spawned, worker: NonNull<Worker<E>>) -> Self {
        let pending = Pending::new::<S, F>(spawned, OnWorker::of(worker));
        pending.scope_state().count_join();
        let drops = if spawned.counted { Drops::Source } else { Drops::Count };
        Join::new(Source::Task(pending), drops, spawned.scope_state)
    }

    /// The same, for a task that `closure` represents in a stack.
    pub(crate) fn of_frame<S, F, E: Engine>(spawned: Spawned, closure: TaskRef, worker: NonNull<Worker<E>>) -> Self {
        let pending = Pending::new::<S, F>(spawned, OnWorker::of(worker));
        pending.scope_state().count_join();
        Join::new(Source::OfFrame(pending, closure), Drops::Source, NonNull::dangling())
    }

    /// The join of a task in a stack that returns nothing.
    #[inline(always)]
    pub(crate) fn in_frame(closure: TaskRef, record: Id) -> Self {
        debug_assert!(!must_count::<O>());
        let (scope_state, order) = (closure.header().scope_state(), closure.header().order());
        Join::new(Source::InFrame { scope_state, order, closure, record }, Drops::Nothing, NonNull::dangling())
    }

    /// Whether the task is complete, including its descendants. Never waits. Once it is true, it
    /// stays true, and [`Spawn::wait`](crate::Spawn::wait) returns at once.
    pub fn is_done(&self) -> bool {
        match &*self.source {
            Source::Ready(..) | Source::Taken => true,
            Source::Task(pending) => pending.is_done(),
            Source::InFrame { scope_state, order, closure, .. } => {
                // SAFETY: the scope outlives its joins.
                unsafe { scope_state.as_ref() }.has_ended(*closure, *order)
            }
            Source::OfFrame(pending, closure) => {
                pending.is_done() || pending.scope_state().has_ended(*closure, pending.order)
            }
        }
    }

    pub(crate) fn wait<E: Engine>(mut self, worker: &Worker<E>, scope_state: &ScopeState) -> Result<O, Error> {
        if !self.is_done() {
            if worker.shared().is_forked() {
                return Err(Error::new(self.label(), Kind::Forked));
            }
            if let Some(kind) = worker.refuses_wait() {
                return Err(Error::new(self.label(), kind));
            }
            E::Tasks::drain_for(worker, scope_state, Cause::Join, self.source.record());
        }
        match &*self.source {
            Source::Task(pending) => {
                let wait = || pending.wait(worker, |waiter| worker.wait(waiter, scope_state));
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

    /// The label of the task, which is not complete.
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
        // The check for a failure below also subtracts the join from the count.
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
            Source::InFrame { scope_state, order, .. } => {
                // SAFETY: the scope outlives its joins.
                let scope_state = unsafe { scope_state.as_ref() };
                Some(match scope_state.take_failure(order) {
                    Some(failure) => Err(failure),
                    // SAFETY: the body returned such a value, and it was forgotten (`body::keep`):
                    // no size and no drop.
                    None => Ok(unsafe { NonNull::<O>::dangling().read() }),
                })
            }
            Source::Taken => None,
        }
    }
}

impl<B, O> Drop for Join<'_, B, O> {
    /// Most joins are dropped where they are made, and their tasks return nothing and ran at their
    /// spawn, or are in a stack. Then the drop reads one word.
    #[inline]
    fn drop(&mut self) {
        match self.drops {
            Drops::Nothing => {}
            // SAFETY: the scope outlives its joins.
            Drops::Count => unsafe { self.counted.as_ref() }.uncount_join(),
            // SAFETY: this is the drop, and `source` is not used again.
            Drops::Source => drop_source(unsafe { ManuallyDrop::take(&mut self.source) }),
        }
    }
}

/// Takes the source by value. A join whose address escapes would be in memory, even if it is
/// dropped at once.
#[inline(never)]
fn drop_source<O>(source: Source<O>) {
    match source {
        Source::Task(pending) | Source::OfFrame(pending, _) => {
            pending.scope_state().uncount_join();
            drop(pending);
        }
        Source::Ready(Ok(value), _, Some(task)) => drop_value(value, || (task.scope_state, task.order, task.label)),
        _ => {}
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
        if let Some((scope_state, closure, order)) = this.source.in_frame()
            && !this.is_done()
            && scope_state.wake_when_ended(closure, order, context.waker())
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
