//! Running tasks: the worker loop on a fiber, and waiting.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use super::carrier::AGE;
use super::complete::{BodyStarted, may_start, refusal};
use super::forks::Offer;
use super::grain::{Length, Ran, RunSite};
#[cfg(feature = "stack")]
use super::stack_head::StackHead;
use super::stay::Awaited;
use super::{Worker, wait::Waiter};
use crate::depend::tracker::Tracker;
use crate::panics::MustNotUnwind;
use crate::pool::{Leave, Pool, Put};
use crate::task::{Record, Role, TaskRef, VTable, flag};
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;
use crate::worker::nest_frame::NestFrame;
use crate::worker::scope_state::ScopeState;

/// A body on top of a waiting one needs this many free bytes of stack, or half of the stack if that
/// is more.
const MIN_STACK_BYTES: usize = 64 * 1024;

/// What the worker loop may run while the caller of a scope waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Only {
    scope_state: NonNull<ScopeState>,
    /// The waiter of that caller, if tasks may be left when it is woken.
    waiter: Option<NonNull<Waiter>>,
}

/// Whether a task may lead to any scope. A fork has no scope. A stack job runs tasks of a whole
/// stack, from any of its scopes.
pub(super) fn is_unscoped(task: TaskRef) -> bool {
    matches!(task.header().role(), Role::Fork | Role::StackJob)
}

/// Whether a task from the pool belongs to the scope or to one below it, as far as a few steps
/// tell.
fn is_below(task: TaskRef, scope_state: &ScopeState) -> bool {
    if is_unscoped(task) {
        return false;
    }
    // SAFETY: the scope of a task in the pool exists, except for forks.
    let scope = unsafe { task.header().scope_state().as_ref() };
    if scope_state.is_root() { scope.has_root(scope_state) } else { scope.is_near_below(scope_state) }
}

impl<E: WorkerEngine> Worker<E> {
    /// The worker loop. A fiber enters it with a first task. It ends when there is no task, when
    /// the bell was rung, or when the budget is used up.
    ///
    /// # Safety
    ///
    /// `worker` is a `Worker<E>`, and this thread holds its seat.
    pub(super) unsafe fn entry(worker: *const (), first: TaskRef) {
        // SAFETY: as the caller promises. Workers live as long as the runtime.
        let this = unsafe { &*worker.cast::<Self>() };
        let mut next = Some(first);
        while let Some(task) = next {
            this.execute(task);
            next = if this.must_leave() { None } else { this.take_next() };
        }
    }

    /// Takes the loop's next task.
    #[inline]
    fn take_next(&self) -> Option<TaskRef> {
        match self.only.get() {
            None => self.take().or_else(|| self.steal()),
            Some(only) => self.take_only(only),
        }
    }

    /// Takes the next task, if it is below the scope that the caller waits for and that wait is not
    /// over.
    #[inline]
    fn take_only(&self, only: Only) -> Option<TaskRef> {
        // SAFETY: a wait of this thread has set it, and that wait is not over.
        let waiter = only.waiter.map(|waiter| unsafe { waiter.as_ref() });
        if waiter.is_some_and(Waiter::is_woken) {
            return None;
        }
        let task = self.shared().pool.take(self.pool_local())?;
        if task.header().scope_state() == only.scope_state { Some(task) } else { self.take_below_only(task, only) }
    }

    /// Returns a task of another scope if that scope is below the caller's. Otherwise puts the task
    /// back.
    #[cold]
    fn take_below_only(&self, task: TaskRef, only: Only) -> Option<TaskRef> {
        // SAFETY: as above.
        let scope_state = unsafe { only.scope_state.as_ref() };
        if is_below(task, scope_state) {
            return Some(task);
        }
        self.put(task, Put::Released);
        self.leave_tasks(Leave::Body);
        None
    }

    /// Whether the loop must return to the carrier. Each call uses up one task of the budget.
    #[inline]
    fn must_leave(&self) -> bool {
        let budget = self.budget.get() - 1;
        self.budget.set(budget);
        budget <= 0 || self.mailbox.is_rung()
    }

    /// Runs a task, and completes the parents that are complete with it.
    pub(crate) fn execute(&self, task: TaskRef) {
        let guard = MustNotUnwind;
        if self.tally.get().0.is_some_and(|scope_state| scope_state != task.header().scope_state()) {
            self.flush_all();
        }
        if task.header().has(flag::REDUCE) {
            task.clear_links();
        }
        let finished = match task.header().role() {
            Role::Fork => self.run_fork(task),
            Role::Nest => self.run_parent(task),
            Role::Future => self.run_future(task),
            Role::StackJob => E::Tasks::run_stack_job(self, task),
            _ => self.run_leaf(task),
        };
        if finished.is_some() {
            self.complete_parents(finished);
        }
        mem::forget(guard);
    }

    /// Like `execute`, on top of a waiting or spawning body.
    pub(crate) fn execute_on_top(&self, task: TaskRef) {
        self.fibers.on_top(|| self.execute(task));
    }

    /// Runs tasks of a stack, on top of a waiting or spawning body, if there is one.
    #[cfg(feature = "stack")]
    pub(crate) fn in_stack<R>(&self, stack: NonNull<StackHead>, run: impl FnOnce() -> R) -> R {
        self.fibers.in_stack(stack, run)
    }

    /// Runs other tasks on top of the running body.
    pub(crate) fn on_top<R>(&self, run: impl FnOnce() -> R) -> R {
        self.fibers.on_top(run)
    }

    pub(crate) fn erased(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// Runs the second half of a fork from the pool.
    fn run_fork(&self, fork: TaskRef) -> Option<TaskRef> {
        // SAFETY: the task is a fork, and exists until it has run.
        unsafe { Offer::of(fork) }.ask_for_another();
        // The fork may take long.
        self.leave_tasks(Leave::Body);
        // Read before the run, because the task does not exist after it.
        let id = fork.record_id();
        let before = if id == 0 { 0 } else { self.log.started(id) };
        // SAFETY: the task was taken from the pool, so it runs once, here.
        let _always_ok = unsafe { (fork.header().vtable().run)(fork, self.erased()) };
        if id != 0 {
            self.log.runs(before);
        }
        None
    }

    fn run_leaf(&self, task: TaskRef) -> Option<TaskRef> {
        let header = task.header();
        if !may_start(task)
            && let Some(error) = refusal(task)
        {
            return self.refuse(task, error);
        }
        // A combination is not a task of the program.
        let nth = if header.role() == Role::Leaf { self.count_body() } else { 0 };
        self.expose_before(header.vtable());
        task.records().iter().for_each(|record| self.fetch_for_release(record));
        let started = self.grains.start_taken(header.scope_state(), nth);
        let result = self.named(task, || self.run_body(task));
        self.grains.end(started, || (&self.shared().kinds, Ran::of(task, RunSite::FromThePool)));
        if result.is_ok() { self.conclude_well(task) } else { self.conclude(task, result, true, BodyStarted::No) }
    }

    /// Runs the body of a task. If the body overflows its stack, the report names the task.
    #[inline(always)]
    pub(crate) fn named<R>(&self, task: TaskRef, run: impl FnOnce() -> R) -> R {
        self.fibers.note_running(Some(task));
        let result = run();
        self.fibers.note_running(None);
        result
    }

    /// Runs the body of a task from the pool.
    #[inline]
    pub(crate) fn run_body(&self, task: TaskRef) -> Result<(), crate::Error> {
        let id = task.record_id();
        let before = if id == 0 { 0 } else { self.log.started(id) };
        // SAFETY: the task was taken from the pool, so it runs once, here, and all its accesses are
        // granted.
        let result = unsafe { (task.header().vtable().run)(task, self.erased()) };
        if id != 0 {
            self.log.ended(id, result.is_ok(), before);
        }
        result
    }

    /// Called before a body that may be long. Other workers must be able to find this worker's
    /// tasks.
    #[inline(always)]
    fn expose_before(&self, kind: &'static VTable) {
        match self.shared().kinds.length(kind) {
            Length::Short => {}
            Length::Medium => {
                self.fetch_next();
                self.expose();
            }
            Length::Long => self.leave_tasks(Leave::Body),
        }
    }

    /// Prefetches what the release of an access will touch.
    #[inline]
    fn fetch_for_release(&self, record: &Record) {
        self.tracker().prefetch(record.version().meta(), record);
    }

    /// Prefetches the data of the task that probably comes next, while this task runs.
    #[inline]
    fn fetch_next(&self) {
        if let Some(next) = self.shared().pool.next(self.pool_local()) {
            next.records().iter().for_each(|record| {
                record.prefetch_value();
                self.fetch_for_release(record);
            });
        }
    }

    /// Ends a task whose body must not run.
    #[cold]
    pub(crate) fn refuse(&self, task: TaskRef, error: crate::Error) -> Option<TaskRef> {
        if task.header().has(flag::RECORDED) {
            self.log.refused(task.record_id(), task.header().role() == Role::Nest);
        }
        // SAFETY: the closure exists and will not run.
        unsafe { (task.header().vtable().discard)(task) };
        self.conclude(task, Err(error), true, BodyStarted::No)
    }

    fn run_parent(&self, task: TaskRef) -> Option<TaskRef> {
        if let Some(error) = refusal(task) {
            return self.refuse(task, error);
        }
        self.expose_before(task.header().vtable());
        E::Tasks::run_parent(self, task)
    }

    /// Runs the body of a parent whose tasks wait in the pool. Returns the parent if this completes
    /// it.
    pub(crate) fn run_parent_from_pool(&self, task: TaskRef) -> Option<TaskRef> {
        self.count_body();
        let result = self.named(task, || self.run_body(task));
        let frame: NonNull<NestFrame> = task.nest_frame_at();
        // SAFETY: `run` has made the frame, and the task cannot be complete before `close`.
        let frame = unsafe { frame.as_ref() };
        if let Err(error) = result {
            frame.scope_state().set_own_failure(error);
        }
        self.combine_open(frame.scope_state());
        frame.scope_state().close(None).then_some(task)
    }

    /// Waits on behalf of a body, or of the caller of a scope, until `waiter` is woken. Meanwhile
    /// the thread runs only tasks below `scope_state`, because these cannot wait for this body.
    pub(crate) fn wait(&self, waiter: &Waiter, scope_state: &ScopeState) {
        E::wait_below(self, waiter, scope_state);
    }

    pub(crate) fn wait_here(&self, waiter: &Waiter, scope_state: &ScopeState) {
        self.log.waits_for_others(|| self.wait_below(waiter, scope_state));
    }

    fn wait_below(&self, waiter: &Waiter, scope_state: &ScopeState) {
        self.forks.offer_all();
        // A thread that waits for the end of a scope is woken when no task of the scope is left. A
        // check at each task would cost half a percent.
        let meanwhile = if scope_state.is_closed_by(self.seat()) { None } else { Some(waiter) };
        while !waiter.is_woken() {
            if !self.run_below(scope_state, meanwhile, u32::MAX) {
                self.flush_all();
                if waiter.park() {
                    return self.suspend(waiter, Awaited::Below(scope_state.into()));
                }
            }
        }
        // The body continues now, and may take long.
        self.step_back(Leave::Body);
    }

    /// Runs a task of this worker from below `scope_state`, if there is one. On a fiber, the task
    /// runs on top of the body. On the carrier, the task runs on a fiber, whose loop then runs more
    /// tasks: until `waiter` is woken or `budget` tasks have run.
    pub(crate) fn run_below(&self, scope_state: &ScopeState, waiter: Option<&Waiter>, budget: u32) -> bool {
        if !self.is_carrier() {
            if self.is_due(&self.run_in_waits) {
                self.let_oldest_run(scope_state);
            }
            return self.take_below(scope_state).map(|task| self.execute_on_top(task)).is_some();
        }
        let used_up = self.begin_turn(1);
        self.resume_mail();
        if self.fibers.parked() > 0 || !self.has_stack_for_task() {
            // A body that waits for something outside the runtime must not share its thread with
            // bodies that hold locks.
            return false;
        }
        if used_up {
            self.let_oldest_run(scope_state);
        }
        let Some(task) = E::Tasks::next_stack_job(self).or_else(|| self.take_of(scope_state)) else { return false };
        let only = Only { scope_state: scope_state.into(), waiter: waiter.map(NonNull::from) };
        let outer = self.only.replace(Some(only));
        self.run_from_carrier(task, budget);
        self.only.set(outer);
        true
    }

    /// Counts a call in `calls`. Returns true at every `AGE`-th call.
    fn is_due(&self, calls: &Cell<u32>) -> bool {
        calls.set((calls.get() + 1) % AGE);
        calls.get() == 0
    }

    /// A thread that waits for a scope keeps running its tasks. So now the task that has waited
    /// longest comes next: on this thread if it is below that scope, otherwise on another.
    #[cold]
    fn let_oldest_run(&self, scope_state: &ScopeState) {
        let Some(task) = self.take_oldest() else { return };
        if is_below(task, scope_state) {
            return self.put(task, Put::Spawned);
        }
        self.put_first(task);
        let begun = self.shared().bodies_begun();
        self.watch_others(&|| self.shared().bodies_begun() != begun);
    }

    /// Waits without running anything on this stack, unless the wait takes long
    /// (`Worker::suspend`).
    pub(crate) fn wait_apart(&self, waiter: &Waiter, awaited: Awaited) {
        if self.shared().is_forked() {
            return self.wait_after_fork(waiter, awaited);
        }
        self.forks.offer_all();
        self.log.waits_for_others(|| {
            self.flush_all();
            if waiter.park() {
                self.suspend(waiter, awaited);
            }
        });
    }

    /// Whether this thread's stack has room for bodies that may wait.
    pub(crate) fn stack_left_for_bodies(&self) -> bool {
        let here = 0_u8;
        (&raw const here).addr() >= self.stack_for_bodies_until()
    }

    /// The address down to which this thread's stack has room for bodies that may wait.
    pub(crate) fn stack_for_bodies_until(&self) -> usize {
        let room = MIN_STACK_BYTES.max(self.shared().config.stack_size / 2);
        self.fibers.stack_limit().map_or(usize::MAX, |limit| limit.saturating_add(room))
    }

    /// Takes a task for a thread that searches for a particular one.
    pub(super) fn take_from_anywhere(&self) -> Option<TaskRef> {
        let stolen = || {
            let stolen = self.shared().pool.steal(self.pool_local())?;
            self.pass_wake_up_on();
            Some(stolen)
        };
        self.take().or_else(|| self.search()).or_else(stolen)
    }

    /// Takes a task from below `scope_state`, to run on another stack.
    pub(super) fn take_of(&self, scope_state: &ScopeState) -> Option<TaskRef> {
        self.take_if(|task| is_below(task, scope_state))
    }

    /// Takes a task from below `scope_state` that this stack has room for.
    pub(crate) fn take_below(&self, scope_state: &ScopeState) -> Option<TaskRef> {
        self.take_below_if(scope_state, |task| !is_unscoped(task))
    }

    /// Like `take_below`, but never takes a parent. A parent might wait for what the body on this
    /// stack does next.
    pub(crate) fn take_leaf_below(&self, scope_state: &ScopeState) -> Option<TaskRef> {
        self.take_below_if(scope_state, |task| matches!(task.header().role(), Role::Leaf | Role::Combine))
    }

    /// Takes a leaf from below `scope_state` of a short kind. Such a leaf does not wait.
    pub(crate) fn take_short_below(&self, scope_state: &ScopeState) -> Option<TaskRef> {
        let short = |task: TaskRef| self.shared().kinds.is_short(task.header().vtable());
        self.take_below_if(scope_state, |task| task.header().role() == Role::Leaf && short(task))
    }

    /// Takes a `wanted` task from below `scope_state`. `wanted` rejects forks.
    fn take_below_if(&self, scope_state: &ScopeState, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if !self.stack_left_for_bodies() {
            return None;
        }
        self.take_if(|task| {
            // SAFETY: the scope of a task in the pool exists, except for forks, and `wanted`
            // rejects those.
            wanted(task) && unsafe { task.header().scope_state().as_ref() }.is_near_below(scope_state)
        })
    }

    /// Whether this thread runs on its own stack, not on a fiber.
    pub(crate) fn is_carrier(&self) -> bool {
        self.fibers.current().is_none()
    }
}
