//! Tasks for tests: numbers that are never dereferenced.

use std::ptr::{self, NonNull};

use crate::task::{Header, TaskRef};

/// Task number `n`; the first is 1.
pub(in crate::pool) fn task(n: usize) -> TaskRef {
    let address: *mut Header = ptr::without_provenance_mut(n);
    TaskRef(NonNull::new(address).expect("tasks are numbered from 1"))
}

/// The number of a [`task`].
pub(in crate::pool) fn number(task: TaskRef) -> usize {
    task.0.as_ptr().addr()
}

/// Joins each thread. If a thread has panicked, raises its panic again.
#[cfg(not(loom))]
pub(in crate::pool) fn join(threads: Vec<std::thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}

/// One cell per task. The putter fills it, and the taker empties it. ThreadSanitizer and loom
/// complain if the fill does not happen before the emptying, or if a task has two takers.
pub(in crate::pool) struct Payloads(Box<[Cell]>);

#[cfg(loom)]
type Cell = loom::cell::UnsafeCell<usize>;
#[cfg(not(loom))]
type Cell = std::cell::UnsafeCell<usize>;

// SAFETY: the tests check whether the accesses to a cell are ordered. If a pool breaks its
// contract, the checkers or a wrong count in a cell show it.
unsafe impl Sync for Payloads {}

impl Payloads {
    pub(in crate::pool) fn new(tasks: usize) -> Self {
        Payloads((0..=tasks).map(|_| Cell::new(0)).collect())
    }

    /// Fills the cell of task `n`, and returns the task.
    pub(in crate::pool) fn fill(&self, n: usize) -> TaskRef {
        self.change(n, 0, 1);
        task(n)
    }

    /// Empties the cell of a taken task.
    pub(in crate::pool) fn empty(&self, taken: TaskRef) {
        self.change(number(taken), 1, 2);
    }

    #[cfg(not(loom))]
    fn change(&self, n: usize, from: usize, to: usize) {
        // SAFETY: as above.
        let cell = unsafe { &mut *self.0[n].get() };
        assert_eq!(*cell, from, "task {n}");
        *cell = to;
    }

    #[cfg(loom)]
    fn change(&self, n: usize, from: usize, to: usize) {
        self.0[n].with_mut(|cell| {
            // SAFETY: as above; loom checks it.
            let cell = unsafe { &mut *cell };
            assert_eq!(*cell, from, "task {n}");
            *cell = to;
        });
    }

    /// Checks that every task was taken.
    pub(in crate::pool) fn check(&mut self) {
        for n in 1..self.0.len() {
            self.change(n, 2, 3);
        }
    }
}
