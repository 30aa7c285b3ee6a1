//! A pool: a locked deque per worker, with round-robin stealing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use millpond::pool::{Leave, Pool, Put, TaskRef};

/// A locked deque per worker. The owner works at the back, thieves take from the front.
#[derive(Debug)]
pub struct RoundRobin {
    deques: Box<[Mutex<VecDeque<TaskRef>>]>,
    hungry: AtomicUsize,
}

/// The state of a worker.
#[derive(Debug)]
pub struct Local {
    number: usize,
    /// The deque from which the next steal is tried first.
    victim: usize,
}

impl RoundRobin {
    fn deque(&self, number: usize) -> MutexGuard<'_, VecDeque<TaskRef>> {
        self.deques[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: a task is in one deque, under its lock, until one call removes and returns it. The lock
// orders the put before the take.
unsafe impl Pool for RoundRobin {
    type Local = Local;
    type Choice = ();

    const NAME: &'static str = "round-robin";
    const HONOURS_PRIORITY: bool = false;

    fn with(seats: usize, (): &()) -> (Self, Vec<Local>) {
        let pool = RoundRobin { deques: (0..seats).map(|_| Mutex::default()).collect(), hungry: AtomicUsize::new(0) };
        (pool, (0..seats).map(|number| Local { number, victim: number }).collect())
    }

    fn put(&self, local: &mut Local, task: TaskRef, _why: Put) -> bool {
        self.deque(local.number).push_back(task);
        true
    }

    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        self.deque(local.number).pop_back()
    }

    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        let mut deque = self.deque(local.number);
        let task = if deque.back().is_some_and(|&task| wanted(task)) { deque.pop_back() } else { None };
        (task, false)
    }

    fn steal(&self, local: &mut Local) -> Option<TaskRef> {
        (0..self.deques.len()).find_map(|_| {
            local.victim = (local.victim + 1) % self.deques.len();
            self.deque(local.victim).pop_front()
        })
    }

    // All tasks are visible at once.
    fn expose(&self, _local: &mut Local) -> bool {
        false
    }

    fn leave(&self, _local: &mut Local, _leave: Leave) -> bool {
        false
    }

    fn hungry(&self, searching: bool) {
        if searching {
            self.hungry.fetch_add(1, SeqCst);
        } else {
            self.hungry.fetch_sub(1, SeqCst);
        }
    }

    fn is_hungry(&self) -> bool {
        self.hungry.load(SeqCst) > 0
    }

    fn has_work(&self) -> bool {
        (0..self.deques.len()).any(|number| !self.deque(number).is_empty())
    }
}
