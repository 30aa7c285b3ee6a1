//! Running tasks: the worker loop on a fiber, and waiting.

use std::mem;
use std::ptr::NonNull;

use super::complete::{Ran, may_start, refusal};
use super::forks::{Offer, Private};
use super::grain::{self, Length};
use super::{Worker, wait::Waiter};
use crate::caught::MustNotUnwind;
use crate::depend::tracker::Tracker;
use crate::engine::Engine;
use crate::engine::store::TaskStore;
use crate::pool::{Leave, Pool};
use crate::runtime::domain::Domain;
use crate::task::{NestFrame, Record, Role, TaskRef, VTable, flag};

/// What must be left of a stack for the body that is run on top of a waiting one; half of it otherwise.
const LEAST_STACK: usize = 64 * 1024;

impl<E: Engine> Worker<E> {
    /// The worker loop, entered on a fiber with a first task, left when there is nothing to do or the bell rings.
    ///
    /// # Safety
    ///
    /// `worker` is a `Worker<E>` whose seat this thread holds.
    pub(super) unsafe fn entry(worker: *const (), first: TaskRef) {
        // SAFETY: as the caller promises; workers live as long as the runtime.
        let this = unsafe { &*worker.cast::<Self>() };
        let mut next = Some(first);
        while let Some(task) = next {
            this.execute(task);
            next = if this.must_leave() { None } else { this.take().or_else(|| this.steal()) };
        }
    }

    /// Whether the loop should go back to the carrier. Each call uses up one task of the budget.
    #[inline]
    fn must_leave(&self) -> bool {
        let budget = self.budget.get().saturating_sub(1);
        self.budget.set(budget);
        budget == 0 || self.seat.is_rung()
    }

    /// Runs a task and completes what is complete with it.
    pub(crate) fn execute(&self, task: TaskRef) {
        let guard = MustNotUnwind;
        if self.tally.get().0.is_some_and(|domain| domain != task.header().domain()) {
            self.flush_all();
        }
        if task.header().has(flag::REDUCE) {
            task.clear_links();
        }
        let finished = match task.header().role() {
            Role::Fork => self.run_fork(task),
            Role::Nest => self.run_parent(task),
            Role::Future => self.run_future(task),
            Role::Errand => E::Tasks::run_errand(self, task),
            _ => self.run_leaf(task),
        };
        if finished.is_some() {
            self.complete_parents(finished);
        }
        mem::forget(guard);
    }

    pub(crate) fn erased(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// Runs the half of a fork that was stolen, or met below another's.
    fn run_fork(&self, fork: TaskRef) -> Option<TaskRef> {
        // SAFETY: of this role, and there until it has run.
        unsafe { Offer::of(fork) }.ask_for_another();
        // Who knows how long it takes.
        self.leave_tasks(Leave::Body);
        // Read before: once it has run, it is gone.
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
        // A combination is no task of the program's.
        let nth = if header.role() == Role::Leaf { self.count_body() } else { 1 };
        self.expose_before(header.vtable());
        task.records().iter().for_each(|record| self.fetch_for_release(record));
        let started = self.grains.start_taken(header.domain(), nth);
        let result = self.run_body(task);
        self.grains.end(|| &self.shared().kinds, header.vtable(), started, grain::Ran::FromThePool);
        if result.is_ok() { self.conclude_well(task) } else { self.conclude(task, result, true, Ran::No) }
    }

    /// Runs the body of a task that was taken from the pool.
    #[inline]
    pub(crate) fn run_body(&self, task: TaskRef) -> Result<(), crate::Error> {
        let id = task.record_id();
        let before = if id == 0 { 0 } else { self.log.started(id) };
        // SAFETY: the task was taken from the pool, so it runs once, here, and all its accesses are granted.
        let result = unsafe { (task.header().vtable().run)(task, self.erased()) };
        if id != 0 {
            self.log.ended(id, result.is_ok(), before);
        }
        result
    }

    /// Before a body that may be long: others must be able to find what waits here.
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

    /// Asks for what the release of an access will touch.
    #[inline]
    fn fetch_for_release(&self, record: &Record) {
        self.tracker().prefetch(record.version().meta(), record);
    }

    /// Asks for the data of the task that probably comes next, while this one runs.
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
        // SAFETY: the closure is there and will not be run.
        unsafe { (task.header().vtable().discard)(task) };
        self.conclude(task, Err(error), true, Ran::No)
    }

    fn run_parent(&self, task: TaskRef) -> Option<TaskRef> {
        if let Some(error) = refusal(task) {
            return self.refuse(task, error);
        }
        self.expose_before(task.header().vtable());
        E::Tasks::run_parent(self, task)
    }

    /// Runs the body of a parent whose tasks wait in the pool. The parent, if it is complete with that.
    pub(crate) fn run_parent_from_pool(&self, task: TaskRef) -> Option<TaskRef> {
        self.count_body();
        let result = self.run_body(task);
        let frame: NonNull<NestFrame> = task.frame_at();
        // SAFETY: `run` has made the frame, and the task cannot be complete before `close`.
        let frame = unsafe { frame.as_ref() };
        if let Err(error) = result {
            frame.domain().set_own_failure(error);
        }
        self.combine_open(frame.domain());
        frame.domain().close(None).then_some(task)
    }

    /// Waits on behalf of a body, or of the caller of a scope, until `waiter` is woken. Meanwhile the worker runs
    /// other tasks: on this stack only what lies below `domain`, since that cannot wait for this body.
    pub(crate) fn wait(&self, waiter: &Waiter, domain: &Domain) {
        E::wait_below(self, waiter, domain);
    }

    pub(crate) fn wait_here(&self, waiter: &Waiter, domain: &Domain) {
        self.log.waits_for_others(|| self.wait_below(waiter, domain));
    }

    fn wait_below(&self, waiter: &Waiter, domain: &Domain) {
        self.forks.offer_all();
        while !waiter.is_woken() {
            match self.take_below(domain) {
                Some(task) => self.execute(task),
                None => {
                    self.flush_all();
                    if waiter.park() {
                        return self.suspend(waiter);
                    }
                }
            }
        }
        // What goes on now may take long.
        self.step_back(Leave::Body);
    }

    /// Lets other tasks run before this body goes on.
    pub(crate) fn let_others_run(&self) {
        self.log.waits_for_others(|| self.step_aside());
    }

    fn step_aside(&self) {
        self.forks.offer_all();
        if self.is_carrier() {
            if !self.help(1) {
                std::thread::yield_now();
            }
            // What it has stolen, or counted, is for others: the body may go on for long.
            return self.step_back(Leave::Seat);
        }
        self.flush_all();
        let waiter = Waiter::new(&self.seat);
        if waiter.park() {
            // Into the inbox at once: the carrier comes to it after this stack was left.
            Waiter::wake_at((&raw const waiter).cast_mut());
            self.suspend(&waiter);
        }
    }

    /// Waits without running anything on this stack.
    pub(crate) fn wait_apart(&self, waiter: &Waiter) {
        self.forks.offer_all();
        self.log.waits_for_others(|| {
            self.flush_all();
            if waiter.park() {
                self.suspend(waiter);
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
        let room = LEAST_STACK.max(self.shared().config.stack_size / 2);
        self.fibers.stack_limit().map_or(usize::MAX, |limit| limit.saturating_add(room))
    }

    /// A task from below `domain` that this stack has room for.
    pub(crate) fn take_below(&self, domain: &Domain) -> Option<TaskRef> {
        // A fork has no scope, and an errand leads to anything.
        self.take_below_if(domain, |task| !matches!(task.header().role(), Role::Fork | Role::Errand))
    }

    /// As `take_below`, but no parent: that might wait for what the body on this stack does next.
    pub(crate) fn take_leaf_below(&self, domain: &Domain) -> Option<TaskRef> {
        self.take_below_if(domain, |task| matches!(task.header().role(), Role::Leaf | Role::Combine))
    }

    /// A leaf from below `domain` whose kind is known to be short: it waits for nobody.
    pub(crate) fn take_short_below(&self, domain: &Domain) -> Option<TaskRef> {
        let short = |task: TaskRef| self.shared().kinds.is_short(task.header().vtable());
        self.take_below_if(domain, |task| task.header().role() == Role::Leaf && short(task))
    }

    /// A task that is wanted, which no fork is, from below `domain`.
    fn take_below_if(&self, domain: &Domain, wanted: impl FnOnce(TaskRef) -> bool) -> Option<TaskRef> {
        if !self.stack_left_for_bodies() {
            return None;
        }
        self.take_if(|task| {
            // SAFETY: the scope of a task in the pool is there, but for forks, which nobody wants here.
            wanted(task) && unsafe { task.header().domain().as_ref() }.is_near_below(domain)
        })
    }

    /// Leaves a parked waiter's stack until it was woken.
    fn suspend(&self, waiter: &Waiter) {
        debug_assert_eq!(self.forks.private(), Private::None, "forks of one stack only (`forks`, 5)");
        match self.fibers.current() {
            Some(fiber) => {
                waiter.keep(fiber);
                let closed = self.forks.set_aside();
                self.fibers.park();
                self.forks.put_back(closed);
            }
            None => self.carry_until(|| waiter.is_delivered()),
        }
        debug_assert!(waiter.is_delivered());
    }

    /// Whether this is the thread's own stack, not a fiber's.
    pub(crate) fn is_carrier(&self) -> bool {
        self.fibers.current().is_none()
    }

    /// Runs up to `tasks` tasks, from the carrier, if any can be found.
    pub(crate) fn help(&self, tasks: u32) -> bool {
        debug_assert!(self.fibers.current().is_none());
        // For the loops that are resumed, too.
        self.budget.set(tasks);
        self.resume_mail();
        self.run_something(tasks)
    }
}
