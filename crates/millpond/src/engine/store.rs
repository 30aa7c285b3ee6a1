//! Where the tasks of a scope stay until they run: each behind its dependences and then in a pool, or all in the frames
//! of a dataflow stack.

use std::ptr::NonNull;
use std::time::Duration;

use super::Engine;
use crate::access::{Accesses, ArgsOf, In};
use crate::depend::tracker::{SchemeOps, Tracker};
use crate::handle::Datum;
use crate::record::Cause;
use crate::runtime::join::Join;
use crate::runtime::outcome::Outcome;
use crate::runtime::scope::Scope;
use crate::runtime::scope_state::ScopeState;
use crate::runtime::spawn::Options;
use crate::stack::Frames;
use crate::task::{NestFrame, TaskRef};
use crate::worker::Worker;
use crate::worker::seats::Shared;

/// What an engine does with the tasks of a scope. What is provided is right for tasks that wait in a pool.
pub trait TaskStore<E: Engine<Tasks = Self>>: Sized + 'static {
    /// What a worker keeps for it.
    type Seat;
    /// What a runtime keeps for it.
    type Shared: Default + Send + Sync;

    /// A worker's part.
    fn seat(index: usize) -> Self::Seat;

    /// A runtime is about to be built, and has no threads yet.
    fn prepare() {}

    /// A root scope begins.
    #[inline(always)]
    fn open_scope(_worker: &Worker<E>, _scope_state: &ScopeState) {}

    /// The closure of a root scope has ended.
    fn end_scope(_worker: &Worker<E>, _scope_state: &ScopeState) {}

    /// The stack that the tasks of a scope go into, if they go into one.
    ///
    /// # Safety
    ///
    /// The scope is open.
    #[inline(always)]
    unsafe fn frames<'a>(_scope_state: &ScopeState) -> Option<&'a Frames> {
        None
    }

    /// Spawns a leaf.
    fn spawn_leaf<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's;

    /// Spawns a parent.
    fn spawn_parent<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, E>, <A as ArgsOf<'t>>::Held) -> R + Send + 's;

    /// A new datum that lies with the frame of the body, if it may.
    #[inline(always)]
    fn own_datum<T>(_scope_state: &ScopeState) -> Option<NonNull<Datum>> {
        None
    }

    /// What orders the accesses to a datum that the scope has made.
    #[inline(always)]
    fn ops_of_own(tracker: E::Tracker, _scope_state: &ScopeState) -> &'static SchemeOps {
        tracker.ops()
    }

    /// Makes a datum the scope's, unless another has it.
    #[inline(always)]
    fn claim(tracker: E::Tracker, scope_state: &ScopeState, datum: &Datum) -> bool {
        datum.claim(scope_state.claim(), tracker)
    }

    /// Whether tasks of the scope, which a stack holds and whose body calls, perhaps use the current version.
    #[inline(always)]
    fn is_in_use(_scope_state: &ScopeState, _datum: &Datum) -> bool {
        false
    }

    /// Takes a combine task whose accesses the stack of its scope orders; false if there is no such stack.
    #[inline(always)]
    fn combine(_worker: &Worker<E>, _scope_state: &ScopeState, _task: TaskRef) -> bool {
        false
    }

    /// A parent's body begins.
    fn open_frame<'a>(worker: &Worker<E>, task: TaskRef) -> &'a NestFrame {
        // SAFETY: the task runs, on this worker.
        unsafe { NestFrame::open(task, worker.seat().index(), worker.tracker().ops()) }
    }

    /// Runs a parent that came from the pool. The parent, if it is complete with that.
    fn run_parent(worker: &Worker<E>, task: TaskRef) -> Option<TaskRef> {
        worker.run_parent_from_pool(task)
    }

    /// Whether all tasks of the scope were handed on: to the pool, or to thieves.
    fn is_drained(_scope_state: &ScopeState) -> bool {
        true
    }

    /// Runs the tasks that the scope, whose body calls, keeps in frames, and waits for those that thieves run.
    fn drain(_worker: &Worker<E>, _scope_state: &ScopeState) {}

    /// As `drain`, for a body that waits, by `cause` and number in a recording.
    #[inline(always)]
    fn drain_for(_worker: &Worker<E>, _scope_state: &ScopeState, _cause: Cause, _on: u64) {}

    /// Polls a future, on behalf of a scope's body.
    fn block_on_in_body<F: Future>(worker: &Worker<E>, scope_state: &ScopeState, future: F) -> F::Output {
        worker.block_on(future, |waiter| worker.wait(waiter, scope_state))
    }

    /// Whether thieves might find something outside of the pool.
    #[inline(always)]
    fn may_have_work(_shared: &Shared<E>) -> bool {
        false
    }

    /// A task that this worker alone knows, and runs before those of the pool.
    #[inline(always)]
    fn next_stack_job(_worker: &Worker<E>) -> Option<TaskRef> {
        None
    }

    /// Does what a task of [`next_stack_job`](TaskStore::next stack job) stands for.
    fn run_stack_job(_worker: &Worker<E>, _task: TaskRef) -> Option<TaskRef> {
        unreachable!("only stacks have stack_jobs")
    }

    /// A join takes the result of a stolen task that has ended: its scope's stack goes on behind it.
    #[inline(always)]
    fn pass_theft(_worker: &Worker<E>, _closure: TaskRef) {}

    /// Looks for work outside of the pool; true if [`next_stack_job`](TaskStore::next stack job) has something.
    #[inline(always)]
    fn steal_stack_jobs(_worker: &Worker<E>) -> bool {
        false
    }

    /// How long a worker may sleep that has found nothing; without end, if that is none.
    #[inline(always)]
    fn nap(_worker: &Worker<E>) -> Option<Duration> {
        None
    }

    /// A worker is awake again.
    #[inline(always)]
    fn end_nap(_worker: &Worker<E>) {}
}

/// Tasks wait behind their dependences, then in the pool.
#[derive(Debug)]
pub enum InPool {}

impl<E: Engine<Tasks = InPool>> TaskStore<E> for InPool {
    type Seat = ();
    type Shared = ();

    fn seat(_index: usize) {}

    #[inline(always)]
    fn spawn_leaf<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's,
    {
        scope.spawn_into_pool(options, accesses, body)
    }

    #[inline(always)]
    fn spawn_parent<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, E>, <A as ArgsOf<'t>>::Held) -> R + Send + 's,
    {
        scope.nest_into_pool(options, accesses, body)
    }
}
