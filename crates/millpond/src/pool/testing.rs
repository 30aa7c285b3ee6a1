//! Tasks for tests: numbers that nobody dereferences.

use std::ptr::{self, NonNull};

use crate::task::{Header, TaskRef};

/// Task number `n`, from 1.
pub(in crate::pool) fn task(n: usize) -> TaskRef {
    let address: *mut Header = ptr::without_provenance_mut(n);
    TaskRef(NonNull::new(address).expect("tasks are numbered from 1"))
}

/// The number of a [`task`].
pub(in crate::pool) fn number(task: TaskRef) -> usize {
    task.0.as_ptr().addr()
}

/// Joins each thread: the first panic is passed on with what it says.
#[cfg(not(loom))]
pub(in crate::pool) fn join(threads: Vec<std::thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}

/// One cell a task, which its putter fills and its taker empties: ThreadSanitizer and loom complain if the one did not
/// happen before the other, or if there were two takers.
pub(in crate::pool) struct Payloads(Box<[Cell]>);

#[cfg(loom)]
type Cell = loom::cell::UnsafeCell<usize>;
#[cfg(not(loom))]
type Cell = std::cell::UnsafeCell<usize>;

// SAFETY: whether the accesses of a cell are ordered is what the tests are about; a pool that breaks its contract is
// found by the checkers, or by a wrong count in a cell.
unsafe impl Sync for Payloads {}

impl Payloads {
    pub(in crate::pool) fn new(tasks: usize) -> Self {
        Payloads((0..=tasks).map(|_| Cell::new(0)).collect())
    }

    /// Fills the cell of task `n`, and gives the task.
    pub(in crate::pool) fn fill(&self, n: usize) -> TaskRef {
        self.change(n, 0, 1);
        task(n)
    }

    /// Empties the cell of a task that was taken.
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
