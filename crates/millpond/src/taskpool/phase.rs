//! The end of the working phase (TP §4.1): when may a worker leave that finds no task?
//!
//! `working` counts the workers that may still put one.
//!
//! - E1. Who finds no task uncounts itself, by a read-modify-write that says how many are left.
//! - E2. If none is left, and then the pool shows no task, the phase is over: it wakes all, and leaves.
//! - E3. Else it sleeps, as workers do (`worker::sleep`), until the pool shows a task or nobody is counted.
//! - E4. If nobody is counted, and then the pool shows no task, it leaves. Else it counts itself, and looks for a task.
//!
//! A worker is counted from before it looks until after it has found nothing, so:
//!
//! - **No task is left behind.** Who puts a task is counted. It comes to E1 only with an empty queue of its own, so what
//!   it has put was taken, or lies where all see it. The uncounts have one order, and each acquires the ones before it:
//!   who is the last sees all that lies there, and goes on by E4.
//! - **Nobody leaves early.** While somebody is counted, neither E2 nor E4 lets anybody go.
//! - **Nobody is left asleep.** The uncount that gives 0 comes before E2's wake-up, as the message of a caller
//!   (`worker::sleep`, C1): who is asleep is called, and who falls asleep later sees 0. A worker that begins its phase
//!   only then makes the count rise again; when it has come down again, the one who brought it down wakes all anew.
//! - **A panic** ends a worker's phase. It uncounts itself and, if it was the last, wakes all: they find its tasks, or go.

use crossbeam_utils::CachePadded;

use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::worker::sleep::{Idle, Sleep};

#[cfg(all(test, loom))]
mod loom_tests;

/// Who is in the working phase, and who sleeps in it.
#[derive(Debug)]
pub(super) struct Phase {
    working: CachePadded<AtomicUsize>,
    pub(super) sleep: Sleep,
}

/// One worker in its phase, counted from `enter` on; its drop ends that.
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

    /// E1 and the wake-up of E2; whether nobody is left.
    fn uncount(&self) -> bool {
        self.working.fetch_sub(1, AcqRel) == 1
    }

    fn nobody_works(&self) -> bool {
        self.working.load(Acquire) == 0
    }
}

impl Member<'_> {
    /// Found no task: returns when there may be one again, or false when the phase is over.
    pub(super) fn wait_for_work(&mut self, number: usize, has_work: impl Fn() -> bool) -> bool {
        let phase = self.phase;
        if phase.uncount() {
            if !has_work() {
                self.gone = true;
                phase.sleep.wake_all();
                return false;
            }
        } else {
            // What it may owe (S6 of `worker::sleep`) it pays at once: it looks.
            let _owes = phase.sleep.wait(number, || has_work() || phase.nobody_works());
        }
        if phase.nobody_works() && !has_work() {
            self.gone = true;
            return false;
        }
        phase.count();
        true
    }
}

impl Drop for Member<'_> {
    /// Of a worker that does not wait for the others.
    fn drop(&mut self) {
        if !self.gone && self.phase.uncount() {
            self.phase.sleep.wake_all();
        }
    }
}
