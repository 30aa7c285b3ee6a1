//! Where the tasks of a scope stay until they run. Each task waits behind its dependences and then
//! in a pool, or all are in the frames of a dataflow stack.

use std::ptr::NonNull;
use std::time::Duration;

use super::WorkerEngine;
use crate::depend::tracker::{SchemeOps, Tracker};
use crate::handle::Datum;
use crate::record::Cause;
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::nest_frame::NestFrame;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;

/// An engine's treatment of the tasks of a scope. The provided methods fit tasks that wait in a
/// pool.
pub trait TaskStore<E: WorkerEngine>: Sized + 'static {
    /// The part of a worker.
    type Local;
    /// The part of a runtime.
    type Shared: Default + Send + Sync;

    /// Makes the part of a worker.
    fn local(index: usize) -> Self::Local;

    /// A runtime is about to be built, and has no threads yet.
    fn prepare() {}

    /// A root scope begins.
    #[inline(always)]
    fn open_scope(_worker: &Worker<E>, _scope_state: &ScopeState) {}

    /// The closure of a root scope has finished.
    fn end_scope(_worker: &Worker<E>, _scope_state: &ScopeState) {}

    /// Whether a stack holds the tasks of the scope, which is open.
    #[inline(always)]
    fn has_frames(_scope_state: &ScopeState) -> bool {
        false
    }

    /// A new datum in the frame of the body, if a frame may hold it.
    #[inline(always)]
    fn own_datum<T>(_scope_state: &ScopeState) -> Option<NonNull<Datum>> {
        None
    }

    /// The functions that order the accesses to a datum that the scope has made.
    #[inline(always)]
    fn ops_of_own(tracker: E::Tracker, _scope_state: &ScopeState) -> &'static SchemeOps {
        tracker.ops()
    }

    /// Claims a datum for the scope. Returns false if another scope has it.
    #[inline(always)]
    fn claim(tracker: E::Tracker, scope_state: &ScopeState, datum: &Datum) -> bool {
        datum.claim(scope_state.claim(), tracker)
    }

    /// Whether tasks of the scope may use the current version. A stack holds these tasks, and the
    /// scope's body calls this.
    #[inline(always)]
    fn is_in_use(_scope_state: &ScopeState, _datum: &Datum) -> bool {
        false
    }

    /// Takes a combine task whose accesses the stack of its scope orders. Returns false if there is
    /// no such stack.
    #[inline(always)]
    fn combine(_worker: &Worker<E>, _scope_state: &ScopeState, _task: TaskRef) -> bool {
        false
    }

    /// A parent's body begins.
    fn open_frame<'a>(worker: &Worker<E>, task: TaskRef) -> &'a NestFrame {
        // SAFETY: the task runs, on this worker.
        unsafe { NestFrame::open(task, worker.seat(), worker.tracker().ops()) }
    }

    /// Runs a parent that came from the pool. Returns the parent if it is complete with that.
    fn run_parent(worker: &Worker<E>, task: TaskRef) -> Option<TaskRef> {
        worker.run_parent_from_pool(task)
    }

    /// Whether all tasks of the scope were handed on to the pool or to thieves.
    fn is_drained(_scope_state: &ScopeState) -> bool {
        true
    }

    /// Runs the tasks that the scope keeps in frames, and waits for those that thieves run. The
    /// scope's body calls this.
    fn drain(_worker: &Worker<E>, _scope_state: &ScopeState) {}

    /// Like `drain`, for a waiting body. `cause` and `on`, a number in a recording, say for what.
    #[inline(always)]
    fn drain_for(_worker: &Worker<E>, _scope_state: &ScopeState, _cause: Cause, _on: u64) {}

    /// Polls a future for a scope's body.
    fn block_on_in_body<F: Future>(worker: &Worker<E>, scope_state: &ScopeState, future: F) -> F::Output {
        worker.block_on(future, |waiter| worker.wait(waiter, scope_state))
    }

    /// Whether thieves might find work outside the pool.
    #[inline(always)]
    fn may_have_work(_shared: &Shared<E>) -> bool {
        false
    }

    /// A task that only this worker knows. It comes before those of the pool.
    #[inline(always)]
    fn next_stack_job(_worker: &Worker<E>) -> Option<TaskRef> {
        None
    }

    /// Runs a task of [`next_stack_job`](TaskStore::next_stack_job).
    fn run_stack_job(_worker: &Worker<E>, _task: TaskRef) -> Option<TaskRef> {
        unreachable!("only stacks have stack jobs")
    }

    /// A join takes the result of a finished stolen task. The stack of its scope continues behind
    /// it.
    #[inline(always)]
    fn pass_theft(_worker: &Worker<E>, _closure: TaskRef) {}

    /// Searches for work outside the pool. Returns true if
    /// [`next_stack_job`](TaskStore::next_stack_job) has a task.
    #[inline(always)]
    fn steal_stack_jobs(_worker: &Worker<E>) -> bool {
        false
    }

    /// How long a worker without work may sleep. `None`: without a timeout.
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

/// For any engine, because a stack also leaves tasks outside of frames to the pool.
impl<E: WorkerEngine> TaskStore<E> for InPool {
    type Local = ();
    type Shared = ();

    fn local(_index: usize) {}
}
