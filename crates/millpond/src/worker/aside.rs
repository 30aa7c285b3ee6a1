//! How a worker lets others run while its body spawns, or waits for something outside the runtime.

use std::time::{Duration, Instant};

use super::engine::WorkerEngine;
use super::scope_state::ScopeState;
use super::stay::{Awaited, PAUSE};
use super::wait::Waiter;
use super::{Worker, turns};
use crate::pool::Leave;

/// A thread that lets others run yields its processor this often, and then sleeps. On a busy
/// machine, the thread in its place may wait long for a processor.
const YIELDS: u32 = 64;
const SLEEPS: u32 = 8;
/// The yields end after this time. Beside other programs, each of them may take milliseconds.
const YIELDING: Duration = Duration::from_millis(1);

impl<E: WorkerEngine> Worker<E> {
    /// Runs a task of this worker from below `scope_state` on another stack, if there is one. This
    /// body continues when that task has finished or waits.
    pub(crate) fn runs_one_apart(&self, scope_state: &ScopeState) -> bool {
        if self.is_carrier() || !self.has_another_stack() {
            return false;
        }
        let Some(task) = self.take_of(scope_state) else { return false };
        self.wanted.set(Some(task));
        self.log.waits_for_others(|| self.step_aside());
        true
    }

    /// Returns to the carrier, which resumes this body when it handles its mail.
    fn step_aside(&self) {
        self.forks.offer_all();
        self.flush_all();
        let waiter = Waiter::outside(&self.mailbox);
        if waiter.park() {
            // The waiter goes into the inbox at once. The carrier handles it after leaving this
            // stack.
            Waiter::wake_at((&raw const waiter).cast_mut());
            self.suspend(&waiter, Awaited::Others);
        }
    }

    /// Lets other tasks run before this body continues. The body waits for something outside the
    /// runtime.
    pub(crate) fn let_others_run(&self) {
        turns::park();
        self.log.waits_for_others(|| {
            if self.is_carrier() {
                self.forks.offer_all();
                self.flush_all();
                // Only this thread resumes the bodies that it has suspended.
                _ = self.begin_turn(1);
                self.resume_mail();
                let begun = self.shared().bodies_begun();
                if !self.watch_a_while(&|| self.shared().bodies_begun() != begun) {
                    self.run_something(1, false);
                }
            } else {
                self.step_aside();
            }
        });
    }

    /// Lets other threads run until `enough` is true, or for a limited time.
    pub(crate) fn watch_others(&self, enough: &dyn Fn() -> bool) {
        self.log.waits_for_others(|| {
            self.forks.offer_all();
            _ = self.watch_a_while(enough);
        });
    }

    /// Waits long enough for other threads to get a processor and to run short tasks. Returns
    /// whether another thread has worked in place of this one.
    fn watch_a_while(&self, enough: &dyn Fn() -> bool) -> bool {
        self.step_back(Leave::Seat);
        let lent = self.lend();
        let since = Instant::now();
        let (mut yields, mut sleeps) = (0, 0);
        while sleeps < SLEEPS && !enough() {
            if yields < YIELDS && since.elapsed() < YIELDING {
                crate::sync::yield_thread();
                yields += 1;
            } else {
                std::thread::sleep(PAUSE);
                sleeps += 1;
            }
        }
        if lent {
            self.take_slot_back();
        }
        lent
    }

    /// Lends the seat and waits on this stack until `done` is true. No thread announces that, so
    /// this worker checks at intervals. Returns false if it cannot lend the seat.
    pub(crate) fn stay_until(&self, done: &dyn Fn() -> bool) -> bool {
        if !self.may_lend() || !self.lend() {
            return false;
        }
        self.step_back(Leave::Seat);
        while !done() {
            self.shared().sleep.wait_for_call(self.seat(), || self.mailbox.has_mail(), Some(PAUSE));
            self.collect_mail();
        }
        self.take_slot_back();
        true
    }

    /// Whether a body may lend its thread's seat: the thread has no suspended bodies, which its
    /// carrier would have to resume.
    pub(super) fn may_lend(&self) -> bool {
        self.fibers.parked() == 0
    }

    /// Lends the seat to a spare thread. Returns false if there is none.
    pub(super) fn lend(&self) -> bool {
        self.turn_from_work();
        self.shared().lend()
    }

    pub(super) fn take_slot_back(&self) {
        let shared = self.shared();
        shared.spares.take_back().for_each(|seat| shared.worker(seat).mailbox.ring());
    }
}
