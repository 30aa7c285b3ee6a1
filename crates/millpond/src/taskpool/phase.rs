//! The end of the working phase (TP §4.1): when may a worker that finds no task leave?
//!
//! `working` counts the workers that may still put a task.
//!
//! - E1. A worker that finds no task uncounts itself, by a read-modify-write that returns the new
//!   count.
//! - E2. If the count is 0, and the pool then shows no task, the phase is over: the worker wakes
//!   all others and leaves.
//! - E3. If the count is not 0, it sleeps, as workers do (`worker::sleep`), until the pool shows a
//!   task or no worker is counted.
//! - E4. If no worker is counted, and the pool then shows no task, it leaves. Otherwise it counts
//!   itself and searches for a task.
//!
//! A worker is counted from before its search until the search has found nothing. Therefore:
//!
//! - **No task is left behind.** A worker that puts a task is counted. It reaches E1 only if its
//!   own queue is empty. So its tasks were taken, or are visible to all workers. The uncounts have
//!   one order, and each acquires the earlier ones. So the last worker sees all remaining tasks,
//!   and continues with E4.
//! - **No worker leaves early.** While a worker is counted, no worker leaves by E2 or E4.
//! - **No worker is left asleep.** The uncount that gives 0 comes before the wake-up of E2, like
//!   the message of a caller (`worker::sleep`, C1). A sleeping worker is called; one that falls
//!   asleep later sees 0. If a worker begins its phase only then, the count rises again, and the
//!   worker that brings it to 0 wakes all once more.
//! - **A panic** ends a worker's phase. The worker uncounts itself. If it was the last, it wakes
//!   all: they find its tasks, or leave.

use crossbeam_utils::CachePadded;

use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::worker::sleep::{Idle, Sleep};

#[cfg(all(test, loom))]
mod loom_tests;

/// Counts the workers in the working phase, and lets them sleep in it.
#[derive(Debug)]
pub(super) struct Phase {
    working: CachePadded<AtomicUsize>,
    pub(super) sleep: Sleep,
}

/// One worker in its phase. It is counted from `enter` until the drop.
#[derive(Debug)]
pub(super) struct Member<'p> {
    phase: &'p Phase,
    /// Whether it has left by E2 or E4, uncounted.
    gone: bool,
}

impl Phase {
    pub(super) fn new(workers: usize, idle: Idle) -> Self {
        Phase { working: CachePadded::new(AtomicUsize::new(0)), sleep: Sleep::new(workers, idle) }
    }

    pub(super) fn enter(&self) -> Member<'_> {
        self.count();
        Member { phase: self, gone: false }
    }

    fn count(&self) {
        self.working.fetch_add(1, AcqRel);
    }

    /// E1 and the wake-up of E2. Returns whether no worker is left.
    fn uncount(&self) -> bool {
        self.working.fetch_sub(1, AcqRel) == 1
    }

    fn all_are_idle(&self) -> bool {
        self.working.load(Acquire) == 0
    }
}

impl Member<'_> {
    /// Called by a worker that has found no task. Returns true when there may be a task again,
    /// false when the phase is over.
    pub(super) fn wait_for_work(&mut self, number: usize, has_work: impl Fn() -> bool) -> bool {
        let phase = self.phase;
        if phase.uncount() {
            if !has_work() {
                self.gone = true;
                phase.sleep.wake_all();
                return false;
            }
        } else {
            // The worker may owe a check (S6 of `worker::sleep`). It checks at once.
            let _owes = phase.sleep.wait(number, &|| has_work() || phase.all_are_idle());
        }
        if phase.all_are_idle() && !has_work() {
            self.gone = true;
            return false;
        }
        phase.count();
        true
    }
}

impl Drop for Member<'_> {
    /// For a worker that does not wait for the others.
    fn drop(&mut self) {
        if !self.gone && self.phase.uncount() {
            self.phase.sleep.wake_all();
        }
    }
}
