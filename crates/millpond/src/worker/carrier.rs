//! The carrier: a worker's own thread, which resumes fibers, looks for work, and sleeps.

use std::ptr::NonNull;

use super::Worker;
use super::current::OnStack;
use super::fiber::{Fiber, Order};
use super::wait::Waiter;
use crate::engine::Engine;
use crate::engine::store::TaskStore;
use crate::memory::Memory;
use crate::pool::{Leave, Pool};
use crate::record::What;

impl<E: Engine> Worker<E> {
    /// Runs tasks until `done`, which is looked at whenever the bell has rung or there is no work.
    pub(crate) fn carry_until(&self, done: impl Fn() -> bool) {
        self.carry_some_until(u32::MAX, done);
    }

    /// As `carry_until`, but looks after so many tasks at the latest.
    pub(crate) fn carry_some_until(&self, tasks: u32, done: impl Fn() -> bool) {
        debug_assert!(self.fibers.current().is_none(), "a fiber parks instead");
        loop {
            // For the loops that are resumed, too.
            self.budget.set(tasks);
            self.resume_mail();
            if done() {
                // What goes on now may take long.
                self.turn_from_work();
                return self.step_back(Leave::Seat);
            }
            if !self.run_something(tasks) {
                self.sleep_until(&done);
            }
        }
    }

    /// Resumes every body that was woken by now, each once. One that wakes itself again comes after other tasks.
    pub(super) fn resume_mail(&self) {
        self.seat.take_mail(|waiter| self.resumable.borrow_mut().push_back(waiter.into()));
        let woken = self.resumable.borrow().len();
        if woken > 0 {
            self.turn_from_work();
        }
        for _ in 0..woken {
            let Some(waiter) = ({ self.resumable.borrow_mut().pop_front() }) else { return };
            self.resume_waiter(waiter);
        }
    }

    /// Whether somebody waits to be resumed.
    fn has_mail(&self) -> bool {
        self.seat.has_mail() || !self.resumable.borrow().is_empty()
    }

    fn resume_waiter(&self, waiter: NonNull<Waiter>) {
        // SAFETY: a woken waiter stays until its owner is resumed, here, or goes on after it was delivered.
        let waiter = unsafe { waiter.as_ref() };
        waiter.deliver();
        // Without a fiber it is this thread's own stack that waits: the caller looks.
        if let Some(fiber) = waiter.take_fiber() {
            // All forks, too, as before each switch (`forks`, 5).
            self.step_back(Leave::Body);
            self.run_on(fiber, Order::Resume);
        }
    }

    /// Runs a fiber until it parks or has nothing to do.
    fn run_on(&self, fiber: NonNull<Fiber>, order: Order) {
        let closed = self.forks.set_aside();
        self.fibers.resume(fiber, order);
        self.forks.put_back(closed);
    }

    /// Takes or steals a task and runs it, and what the loop finds after it (`budget` tasks in all), on a fiber.
    pub(super) fn run_something(&self, budget: u32) -> bool {
        self.forks.offer_all();
        let Some(task) = self.take().or_else(|| self.steal()) else { return false };
        self.owes.set(false);
        self.budget.set(budget);
        let fiber = self.fibers.take(self.erased(), Self::entry);
        let on_stack = OnStack::save();
        OnStack::bottom(self).restore();
        self.run_on(fiber, Order::Run(task));
        on_stack.restore();
        true
    }

    /// Whether this worker could go on, on another stack, if this one were put aside.
    pub(crate) fn has_another_stack(&self) -> bool {
        self.fibers.reserve(self.erased(), Self::entry)
    }

    /// Stacks of this worker that were put aside.
    pub(crate) fn waiting_stacks(&self) -> usize {
        self.fibers.parked()
    }

    /// Nothing to do: gives back what this worker holds for others, and sleeps until something arrives.
    fn sleep_until(&self, done: &impl Fn() -> bool) {
        let had_tally = self.tally.get().0.is_some();
        self.flush_all();
        if had_tally {
            // What was flushed may have completed what `done` asks for, or released tasks.
            return;
        }
        let shared = self.shared();
        shared.memory.idle(self.memory_local());
        shared.pool.hungry(true);
        if self.log.is_on() {
            self.log.note(What::Idle);
        }
        let steals = || E::Tasks::steal_errands(self);
        let found = || self.has_mail() || done() || shared.has_tasks() || steals();
        let owes = shared.sleep.wait_watching(self.seat.index(), found, || E::Tasks::nap(self));
        E::Tasks::end_nap(self);
        shared.pool.hungry(false);
        if self.log.is_on() {
            self.log.note(What::Awake);
        }
        self.owes.set(self.owes.get() | owes);
    }

    /// Something else comes first: if this worker was woken for work, somebody else should look (`sleep`, S6).
    fn turn_from_work(&self) {
        if self.owes.replace(false) && self.shared().has_work() {
            self.shared().sleep.work_arrived();
        }
    }

    /// The life of a worker thread.
    pub(crate) fn live(&self) {
        let shared = self.shared();
        self.carry_until(|| shared.is_shut_down());
    }

    /// Before a guest gives its seat up: leaves no task behind that only this seat could run, no body that only it
    /// could resume, and nothing that it holds for others.
    pub(crate) fn leave_seat(&self) {
        self.carry_until(|| self.fibers.parked() == 0);
        self.shared().memory.idle(self.memory_local());
        // A new stack costs the next caller some 10 µs. Annexes may be many, and are rarely used again.
        self.fibers.keep(usize::from(!self.shared().config.annex));
    }
}
