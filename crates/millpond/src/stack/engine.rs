//! The dataflow stack as an engine: scopes keep their tasks in frames, where no task is ordered
//! before a thief asks ([DDS](crate#sources) §3).
//!
//! Tasks that no body's scope holds, mainly those of sessions, wait as they do under [`Parked`].
//!
//! A stack knows only the order of the program. So:
//!
//! - a `write` replaces the value in its turn, and gets no new storage;
//! - `commutative` accesses run in program order;
//! - priorities do not overtake;
//! - a waiting body waits for everything that its scope has spawned before;
//! - values to be dropped stay until the tasks of their frame have ended.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::time::Duration;

use super::{Frames, Stacks, Thief, fits_in_stack, frames_of};
use crate::copy_out::{copy_out, rarely};
use crate::depend::Parked;
use crate::depend::tracker::{Of, SchemeOps, Tracker};
use crate::handle::Datum;
use crate::handle::access::{Accesses, ArgsOf, In};
use crate::memory::Slabs;
use crate::pool::Split;
use crate::record::Cause;
use crate::runtime::engine::{Engine, SpawnStore, linked_engine};
use crate::runtime::join::Join;
use crate::runtime::outcome::Outcome;
use crate::runtime::scope::Scope;
use crate::runtime::spawn::Options;
use crate::stack::in_order::InOrder;
use crate::sync::barrier;
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::InPool;
use crate::worker::engine::store::TaskStore;
use crate::worker::nest_frame::NestFrame;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;

/// The engine of the dataflow stack ([DDS](crate#sources) §3). It replaces memory manager, pool and
/// scheme. Never a value.
///
/// Needs the Cargo feature `stack`.
///
/// ```
/// use millpond::{Runtime, Spawn, StackEngine};
///
/// let rt: Runtime<StackEngine> = Runtime::builder().workers(2).build_with()?;
/// assert_eq!(rt.scope(|s| s.wait(s.spawn((), |()| 6)))??, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum StackEngine {}

impl StackEngine {
    /// The name that chooses it on the command line, as one of the schemes.
    pub const NAME: &'static str = "stack";
}

impl WorkerEngine for StackEngine {
    type Memory = Slabs;
    type Pool = Split;
    type Tracker = Of<Parked>;
    type Tasks = InFrames;
}

impl Engine for StackEngine {
    type Spawns = InFrames;
}

linked_engine!(StackEngine);

/// Tasks stay in the frames of their scope's stack.
#[derive(Debug)]
pub enum InFrames {}

/// A worker's data for stacks.
#[derive(Debug)]
pub struct StackLocal {
    /// The stack in which the beginning parent opens its frame.
    pub(super) opens_in: Cell<Option<NonNull<Frames>>>,
    /// Stacks waiting for this worker, and tasks that it has stolen.
    pub(super) stack_jobs: RefCell<VecDeque<TaskRef>>,
    pub(super) thief: Thief,
}

/// Calls a task at its spawn, if an inline subtree runs and `call` accepts the task. Otherwise
/// returns the task, for a frame.
#[inline(always)]
fn call_at_spawn<A, F, R>(
    frames: &Frames,
    portable: bool,
    accesses: A,
    body: F,
    call: impl FnOnce(A, F) -> Result<R, (A, F)>,
) -> Result<R, (A, F)> {
    if !frames.runs_at_spawn(portable) {
        return Err((accesses, body));
    }
    call(accesses, body).map_err(|(accesses, body)| {
        frames.give_up_inline_subtree();
        (copy_out(accesses), copy_out(body))
    })
}

impl TaskStore<StackEngine> for InFrames {
    type Local = StackLocal;
    /// The stacks of scopes.
    type Shared = Stacks;

    fn local(index: usize) -> StackLocal {
        StackLocal { opens_in: Cell::new(None), stack_jobs: RefCell::default(), thief: Thief::new(index) }
    }

    fn prepare() {
        barrier::prepare();
    }

    fn open_scope(worker: &Worker<StackEngine>, scope_state: &ScopeState) {
        worker.open_stack(scope_state);
    }

    fn end_scope(worker: &Worker<StackEngine>, scope_state: &ScopeState) {
        worker.end_stack(scope_state);
    }

    #[inline(always)]
    fn has_frames(scope_state: &ScopeState) -> bool {
        scope_state.frames().is_some()
    }

    #[inline(always)]
    fn own_datum<T>(scope_state: &ScopeState) -> Option<NonNull<Datum>> {
        let fits = const { fits_in_stack::<T>() };
        // SAFETY: the scope's body calls this, so the scope is open.
        let frames = unsafe { frames_of(scope_state) }.filter(|_| fits && scope_state.task().is_some())?;
        frames.own_datum::<T>(scope_state)
    }

    #[inline(always)]
    fn ops_of_own(tracker: Of<Parked>, scope_state: &ScopeState) -> &'static SchemeOps {
        if scope_state.frames().is_some() { SchemeOps::of::<InOrder>() } else { tracker.ops() }
    }

    fn claim(tracker: Of<Parked>, scope_state: &ScopeState, datum: &Datum) -> bool {
        match scope_state.frames() {
            Some(_) => datum.claim(scope_state.claim(), Of::<InOrder>::default()),
            None => datum.claim(scope_state.claim(), tracker),
        }
    }

    fn is_in_use(scope_state: &ScopeState, datum: &Datum) -> bool {
        datum.version().meta().of::<InOrder>().is_in_use() && !Self::is_drained(scope_state)
    }

    fn combine(worker: &Worker<StackEngine>, scope_state: &ScopeState, task: TaskRef) -> bool {
        // SAFETY: the scope is open.
        let Some(frames) = (unsafe { frames_of(scope_state) }) else { return false };
        worker.combine_in_frame(frames, task);
        true
    }

    fn open_frame<'a>(worker: &Worker<StackEngine>, task: TaskRef) -> &'a NestFrame {
        worker.open_frame(task)
    }

    fn run_parent(worker: &Worker<StackEngine>, task: TaskRef) -> Option<TaskRef> {
        worker.run_parent_apart(task);
        None
    }

    fn is_drained(scope_state: &ScopeState) -> bool {
        // SAFETY: the scope is open.
        unsafe { frames_of(scope_state) }.is_none_or(Frames::is_drained)
    }

    fn drain(worker: &Worker<StackEngine>, scope_state: &ScopeState) {
        worker.finish_frame(scope_state);
    }

    fn drain_for(worker: &Worker<StackEngine>, scope_state: &ScopeState, cause: Cause, on: u64) {
        worker.finish_frame_for(scope_state, cause, on);
    }

    fn block_on_in_body<F: Future>(worker: &Worker<StackEngine>, scope_state: &ScopeState, future: F) -> F::Output {
        worker.block_on_in_frame(scope_state, future)
    }

    fn may_have_work(shared: &Shared<StackEngine>) -> bool {
        shared.tasks.may_have_work()
    }

    fn next_stack_job(worker: &Worker<StackEngine>) -> Option<TaskRef> {
        worker.tasks.stack_jobs.borrow_mut().pop_front()
    }

    fn run_stack_job(worker: &Worker<StackEngine>, task: TaskRef) -> Option<TaskRef> {
        worker.run_stack_job(task)
    }

    fn pass_theft(worker: &Worker<StackEngine>, closure: TaskRef) {
        worker.pass_theft(closure);
    }

    fn steal_stack_jobs(worker: &Worker<StackEngine>) -> bool {
        worker.steal_closure()
    }

    fn nap(worker: &Worker<StackEngine>) -> Option<Duration> {
        worker.watch()
    }

    fn end_nap(worker: &Worker<StackEngine>) {
        worker.end_watch();
    }
}

impl SpawnStore<StackEngine> for InFrames {
    #[inline(always)]
    fn spawn_leaf<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, StackEngine>,
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
        let Some(frames) = scope.frames() else {
            let (options, accesses, body) = (copy_out(options), copy_out(accesses), copy_out(body));
            return copy_out(rarely(move || InPool::spawn_leaf(scope, options, accesses, body)));
        };
        let call = |accesses, body| scope.call_leaf(frames, &options, accesses, body);
        match call_at_spawn(frames, options.portable, accesses, body, call) {
            Ok(result) => Join::ready(result, 0, scope.scope_state(), || options.label()),
            Err((accesses, body)) => scope.spawn_in_frame(frames, options, accesses, body),
        }
    }

    #[inline(always)]
    fn spawn_parent<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, StackEngine>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, StackEngine>, <A as ArgsOf<'t>>::Held) -> R + Send + 's,
    {
        let Some(frames) = scope.frames() else {
            let (options, accesses, body) = (copy_out(options), copy_out(accesses), copy_out(body));
            return copy_out(rarely(move || InPool::spawn_parent(scope, options, accesses, body)));
        };
        let call = |accesses, body| scope.call_parent(frames, &options, accesses, body);
        match call_at_spawn(frames, options.portable, accesses, body, call) {
            Ok(result) => Join::ready(result, 0, scope.scope_state(), || options.label()),
            Err((accesses, body)) => scope.nest_in_frame(frames, options, accesses, body),
        }
    }
}
