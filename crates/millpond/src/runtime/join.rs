//! Joins: the value of one task, for its scope. Most tasks have run at their spawn, or lie in a stack; for the others see [`pending`].

use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::engine::Engine;
use crate::engine::store::TaskStore;
use crate::error::{Error, Kind, Label};
use crate::record::{Cause, Id};
use crate::runtime::scope_state::ScopeState;
use crate::stack::{has_ended, wake_when_ended};
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::current::{self, with_log_of_body};

use pending::drop_value;
pub(crate) use pending::{Pending, Release, Spawned, must_count};

mod pending;

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
    counted: NonNull<ScopeState>,
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
        scope_state: NonNull<ScopeState>,
        order: u64,
        closure: TaskRef,
        record: Id,
    },
    Taken,
}

/// A task that ran at its spawn.
struct Ran {
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

    /// Of a task in its scope's stack: the scope, what is there, and its place in reference order.
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

/// Frees on the worker of the scope, which is this thread's.
struct OnWorker {
    worker: *const (),
    free: unsafe fn(*const (), TaskRef),
    /// Ends a closure that was stolen and is done (`stack::thief::theft`).
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
    fn new(source: Source<O>, drops: Drops, counted: NonNull<ScopeState>) -> Self {
        Join { source: ManuallyDrop::new(source), drops, counted, _of: PhantomData }
    }

    /// Of the task that was spawned last in `scope_state`, and ran at its spawn.
    #[inline(always)]
    pub(crate) fn ready(
        result: Result<O, Error>,
        record: Id,
        scope_state: &ScopeState,
        label: impl FnOnce() -> Label,
    ) -> Self {
        let drops = if mem::needs_drop::<O>() || result.is_err() { Drops::Source } else { Drops::Nothing };
        let ran = || Ran { scope_state: scope_state.into(), order: scope_state.last_order(), label: label() };
        let ran = if const { mem::needs_drop::<O>() } { Some(ran()) } else { None };
        Join::new(Source::Ready(result, record, ran), drops, NonNull::dangling())
    }

    #[inline]
    pub(crate) fn to_task<S, F, E: Engine>(spawned: Spawned, worker: NonNull<Worker<E>>) -> Self {
        let pending = Pending::new::<S, F>(spawned, OnWorker::of(worker));
        pending.scope_state().count_join();
        let drops = if spawned.counted { Drops::Source } else { Drops::Count };
        Join::new(Source::Task(pending), drops, spawned.scope_state)
    }

    /// The same, of a task for which `closure` stands in a stack.
    pub(crate) fn of_frame<S, F, E: Engine>(spawned: Spawned, closure: TaskRef, worker: NonNull<Worker<E>>) -> Self {
        let pending = Pending::new::<S, F>(spawned, OnWorker::of(worker));
        pending.scope_state().count_join();
        Join::new(Source::OfFrame(pending, closure), Drops::Source, NonNull::dangling())
    }

    /// The join of a task that returns nothing, which a stack holds.
    #[inline(always)]
    pub(crate) fn in_frame(closure: TaskRef, record: Id) -> Self {
        debug_assert!(!must_count::<O>());
        let (scope_state, order) = (closure.header().scope_state(), closure.header().order());
        Join::new(Source::InFrame { scope_state, order, closure, record }, Drops::Nothing, NonNull::dangling())
    }

    /// Whether the task is complete, its descendants included. Never waits; once true it stays so, and
    /// [`Spawn::wait`](crate::Spawn::wait) returns at once.
    pub fn is_done(&self) -> bool {
        match &*self.source {
            Source::Ready(..) | Source::Taken => true,
            Source::Task(pending) => pending.is_done(),
            Source::InFrame { scope_state, order, closure, .. } => {
                // SAFETY: the scope outlives its joins.
                has_ended(unsafe { scope_state.as_ref() }, *closure, *order)
            }
            Source::OfFrame(pending, closure) => {
                pending.is_done() || has_ended(pending.scope_state(), *closure, pending.order)
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
            Source::InFrame { scope_state, order, .. } => {
                // SAFETY: the scope outlives its joins.
                let scope_state = unsafe { scope_state.as_ref() };
                Some(match scope_state.take_failure(order) {
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
            pending.scope_state().uncount_join();
            drop(pending);
        }
        Source::Ready(Ok(value), _, Some(ran)) => drop_value(value, || (ran.scope_state, ran.order, ran.label)),
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
            && wake_when_ended(scope_state, closure, order, context.waker())
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
