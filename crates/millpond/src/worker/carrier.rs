//! The carrier: a worker's own thread. It resumes fibers, searches for work, and sleeps.

use std::ptr::NonNull;

use super::Worker;
use super::current::OnStack;
use super::fiber::{Fiber, Order};
use super::run::is_unscoped;
use super::stay::{PAUSE, Patience};
use super::wait::Waiter;
use crate::memory::Memory;
use crate::pool::{Leave, Pool, Put};
use crate::record::What;
use crate::task::TaskRef;
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;

use TaskSource::{Away, Here, Outside};

/// After this many tasks, taken newest first, a worker runs an old one: one that was put before all
/// tasks that these tasks put.
pub(super) const AGE: u32 = 244;

/// A worker that searches outside for an old task takes up to this many at once.
const FROM_OUTSIDE: usize = 8;

/// Where a worker searches for an old task.
#[derive(Clone, Copy, Debug)]
enum TaskSource {
    /// In this worker's part of the pool.
    Here,
    /// At the inject seat, where threads without a seat spawn.
    Outside,
    /// At the seat of a waiting thread.
    Away,
}

/// The orders of sources, one search after the other. Most begin outside, where new tasks come
/// from.
const TURNS: [[TaskSource; 3]; 4] =
    [[Outside, Here, Away], [Away, Outside, Here], [Outside, Here, Away], [Here, Away, Outside]];

/// The number of a search that begins outside.
const OUTSIDE_FIRST: usize = 0;

impl<E: WorkerEngine> Worker<E> {
    /// Runs tasks until `done`. Checks it when the bell has rung, and when there is no work.
    pub(crate) fn carry_until(&self, done: &dyn Fn() -> bool) {
        self.carry_some_until(u32::MAX, done);
    }

    /// Like `carry_until`, but checks `done` after at most `tasks` tasks, or after some time:
    /// nothing notifies the worker.
    pub(crate) fn carry_some_until(&self, tasks: u32, done: &dyn Fn() -> bool) {
        debug_assert!(self.fibers.current().is_none(), "a fiber parks instead");
        let mut patience = Patience::new();
        loop {
            let used_up = self.begin_turn(tasks);
            self.resume_mail();
            if done() {
                // The caller's next step may take long.
                self.turn_from_work();
                return self.step_back(Leave::Seat);
            }
            // The suspended bodies may hold locks. If a body waits for something outside the
            // runtime, it must not meet them on its thread.
            let at_most = (tasks != u32::MAX).then_some(PAUSE);
            if self.fibers.parked() > 0 && self.wait_with_bodies(at_most, &mut patience, done) {
                continue;
            }
            if !self.run_something(tasks, used_up) {
                self.sleep_until(done);
            }
        }
    }

    /// Runs the task that a suspended body wants. Then resumes once each body that is woken by now.
    /// A body that wakes itself again comes after other tasks.
    pub(super) fn resume_mail(&self) {
        self.run_wanted();
        self.collect_mail();
        let woken = self.resumable.borrow().len();
        if woken > 0 {
            self.turn_from_work();
        }
        for _ in 0..woken {
            let Some(waiter) = ({ self.resumable.borrow_mut().pop_front() }) else { break };
            self.resume_waiter(waiter);
            self.run_wanted();
        }
    }

    fn run_wanted(&self) {
        while let Some(wanted) = self.wanted.take() {
            self.run_from_carrier(wanted, 1);
        }
    }

    /// Whether a waiter of this worker is to be resumed.
    pub(crate) fn has_mail(&self) -> bool {
        self.mailbox.has_mail() || !self.resumable.borrow().is_empty()
    }

    fn resume_waiter(&self, waiter: NonNull<Waiter>) {
        // SAFETY: a woken waiter stays until its owner is resumed, which happens here.
        let waiter = unsafe { waiter.as_ref() };
        waiter.deliver();
        let fiber = waiter.take_fiber().expect("collected with its fiber");
        // This also offers all forks, as before each switch (`forks`, 5).
        self.step_back(Leave::Body);
        self.run_on(fiber, Order::Resume);
    }

    /// Runs a fiber until it parks or is idle.
    fn run_on(&self, fiber: NonNull<Fiber>, order: Order) {
        let closed = self.forks.set_aside();
        self.fibers.resume(fiber, order);
        self.forks.put_back(closed);
    }

    /// Sets the budget, also for the loops that are resumed. Returns whether `AGE` tasks have run
    /// since it last returned true.
    ///
    /// While bodies of this thread are suspended, a resumed loop runs nothing after its body. The
    /// next task might wait for a lock that one of them holds.
    pub(super) fn begin_turn(&self, tasks: u32) -> bool {
        self.set_budget(if self.fibers.parked() > 0 { 1 } else { tasks });
        let is_due = self.ran.get() >= AGE;
        if is_due {
            self.ran.set(0);
        }
        is_due
    }

    /// Sets the budget to `tasks`, or to `AGE` if that is less.
    fn set_budget(&self, tasks: u32) {
        let tasks = tasks.min(AGE) as i32;
        let used = self.turn.replace(tasks) - self.budget.replace(tasks);
        self.ran.set(self.ran.get().saturating_add(used.max(0) as u32));
    }

    /// Takes or steals a task and runs it on a fiber. The loop then runs further tasks, `budget` in
    /// all. With `oldest_first`, the first task is one that has waited long.
    pub(super) fn run_something(&self, budget: u32, oldest_first: bool) -> bool {
        if !self.has_stack_for_task() {
            return false;
        }
        let oldest = if oldest_first { self.take_oldest() } else { None };
        if oldest.is_some() {
            // A body may hold a lock while it waits for a task of this worker. So others must be
            // able to take this worker's tasks.
            self.leave_tasks(Leave::Body);
        }
        let Some(task) = oldest.or_else(|| self.take()).or_else(|| self.steal()) else { return false };
        let outer = self.only.take();
        self.run_from_carrier(task, budget);
        self.only.set(outer);
        true
    }

    /// The task that has waited longest among those that others can find, if the pool can tell. It
    /// searches three places, in alternating orders: here, the inject seat, and the seat of a
    /// waiting thread.
    ///
    /// It searches here only between tasks of root scopes. Below a root scope, the oldest task is
    /// mostly the one that a recursion reaches last. Running it early would keep half of the tree
    /// unfinished at the same time.
    pub(super) fn take_oldest(&self) -> Option<TaskRef> {
        self.expose();
        let (shared, own) = (self.shared(), self.seat());
        let look = self.looks.replace(self.looks.get().wrapping_add(1));
        let seat = |source| match source {
            Here => self.is_next_at_root().then_some(own),
            Outside => Some(shared.inject_seat()),
            Away => shared.sleep.next_away(look / TURNS.len(), |seat| seat != own && !shared.spares.rests(seat)),
        };
        let sources = TURNS[look % TURNS.len()];
        let seats = sources.into_iter().filter_map(seat);
        let mut found = seats.filter_map(|seat| Some((seat, shared.pool.take_oldest(seat)?)));
        let (seat, oldest) = found.next()?;
        if seat == shared.inject_seat() {
            let others = std::iter::from_fn(|| shared.pool.take_oldest(seat));
            others.take(FROM_OUTSIDE - 1).for_each(|task| self.put_first(task));
        }
        Some(oldest)
    }

    /// Whether this worker's next task belongs to a root scope.
    fn is_next_at_root(&self) -> bool {
        let Some(next) = self.shared().pool.take(self.pool_local()) else { return false };
        // SAFETY: a task in the pool has a live scope, unless it is a fork, which the first test
        // excludes.
        let at_root = !is_unscoped(next) && unsafe { next.header().scope_state().as_ref() }.task().is_none();
        self.put(next, Put::Released);
        at_root
    }

    /// Runs a task on a fiber. The loop then runs further tasks, `budget` in all.
    pub(super) fn run_from_carrier(&self, task: TaskRef, budget: u32) {
        self.forks.offer_all();
        self.owes.set(false);
        self.set_budget(budget);
        let Some(fiber) = self.fibers.take(self.erased(), Self::entry) else { return self.run_on_thread(task) };
        let on_stack = OnStack::save();
        OnStack::bottom(self).restore();
        self.run_on(fiber, Order::Run(task));
        on_stack.restore();
    }

    /// Takes all waiters out of the inbox, but leaves resuming to the carrier. A waiter without a
    /// fiber belongs to this thread's own stack, or to the running body. Its owner checks it, and
    /// it must not count as mail until then.
    pub(super) fn collect_mail(&self) {
        self.mailbox.take_mail(|waiter| match waiter.has_fiber() {
            true => self.resumable.borrow_mut().push_back(waiter.into()),
            false => waiter.deliver(),
        });
    }

    /// Whether this worker could continue with another stack, if this one were suspended.
    pub(crate) fn has_another_stack(&self) -> bool {
        self.fibers.reserve(self.erased(), Self::entry)
    }

    /// How many stacks of this worker are suspended.
    pub(crate) fn waiting_stacks(&self) -> usize {
        self.fibers.parked()
    }

    /// Without work: gives back what this worker holds for others, and sleeps until something
    /// arrives.
    fn sleep_until(&self, done: &dyn Fn() -> bool) {
        let had_tally = self.tally.get().0.is_some();
        self.flush_all();
        if had_tally {
            // The flush may have completed what `done` checks, or released tasks.
            return;
        }
        let shared = self.shared();
        shared.memory.idle(self.memory_local());
        shared.pool.hungry(true);
        if self.log.is_on() {
            self.log.note(What::Idle);
        }
        let steals = || E::Tasks::steal_stack_jobs(self);
        let found = || self.has_mail() || done() || shared.has_tasks() || steals();
        let owes = shared.sleep.wait_watching(self.seat(), &found, &|| E::Tasks::nap(self));
        E::Tasks::end_nap(self);
        shared.pool.hungry(false);
        if self.log.is_on() {
            self.log.note(What::Awake);
        }
        self.owes.set(self.owes.get() | owes);
    }

    /// The worker turns to something else first. If it was woken for work, it wakes another worker
    /// to search for that work (`sleep`, S6).
    pub(super) fn turn_from_work(&self) {
        if self.owes.replace(false) && self.shared().has_work() {
            self.shared().sleep.work_arrived();
        }
    }

    /// The life of a worker thread.
    pub(crate) fn live(&self) {
        let shared = self.shared();
        if !shared.spares.has(self.seat()) {
            return self.carry_until(&|| shared.is_shut_down());
        }
        // Reserves a stack now, because the system has just had room for one. If there is none, the
        // first task finds out.
        _ = self.has_another_stack();
        while !shared.is_shut_down() {
            self.carry_as_spare();
        }
    }

    /// One turn of a spare thread (`spares`): it runs tasks, sleeps as a worker does, or rests.
    fn carry_as_spare(&self) {
        let (shared, seat) = (self.shared(), self.seat());
        let used_up = self.begin_turn(AGE);
        self.resume_mail();
        let mut patience = Patience::new();
        while self.fibers.parked() > 0 && self.wait_with_bodies(None, &mut patience, &|| shared.is_shut_down()) {
            if shared.is_shut_down() {
                return;
            }
            _ = self.begin_turn(1);
            self.resume_mail();
        }
        let called = self.is_called.take();
        if called {
            self.looks.set(OUTSIDE_FIRST);
        }
        // It runs something before it rests: a thread that lends its seat for a moment lets others
        // run.
        let found = self.run_something(AGE, used_up || called);
        if self.fibers.parked() == 0 && shared.spares.rest(seat) {
            self.turn_from_work();
            self.step_back(Leave::Seat);
            shared.memory.idle(self.memory_local());
            self.log.idles(|| {
                while !shared.spares.is_up(seat) && !shared.is_shut_down() {
                    shared.sleep.wait_for_call(seat, || shared.spares.is_up(seat) || shared.is_shut_down(), None);
                }
            });
            self.is_called.set(true);
        } else if !found {
            let may_rest = || self.fibers.parked() == 0 && shared.spares.has_surplus();
            self.sleep_until(&|| shared.is_shut_down() || may_rest());
        }
    }

    /// Called before a caller gives up its seat. Leaves behind no task that only this seat could
    /// run, no body that only it could resume, and nothing that it holds for others.
    pub(crate) fn leave_seat(&self) {
        self.carry_until(&|| self.fibers.parked() == 0);
        self.shared().memory.idle(self.memory_local());
        // A new stack costs the next caller about 10 µs. Caller contexts keep none: there may be
        // many, and they are rarely used again.
        self.fibers.keep(usize::from(!self.shared().config.caller_context));
    }
}
