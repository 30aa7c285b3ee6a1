//! Tasks for tests: numbers that are never dereferenced, and headers, for pools that link tasks.

use std::panic::Location;
use std::ptr::{self, NonNull};

use crate::task::{Header, ScopePtr, TaskRef, VTable};

/// Addresses up to this one are numbers.
const LARGEST_NUMBER: usize = 1 << 20;

/// Task number `n`, without a header; the first is 1.
pub(in crate::pool) fn task(n: usize) -> TaskRef {
    assert!(n <= LARGEST_NUMBER);
    let address: *mut Header = ptr::without_provenance_mut(n);
    TaskRef(NonNull::new(address).expect("tasks are numbered from 1"))
}

/// The number of a [`task`], or of one of [`Tasks`].
pub(in crate::pool) fn number(task: TaskRef) -> usize {
    let address = task.0.as_ptr().addr();
    if address <= LARGEST_NUMBER { address } else { task.header().order() as usize }
}

/// Tasks with headers, numbered from 1. No pool holds one of them any more when this is dropped.
pub(in crate::pool) struct Tasks(Box<[Header]>);

// SAFETY: a pool hands each header from thread to thread with its task.
unsafe impl Send for Tasks {}
// SAFETY: as above.
unsafe impl Sync for Tasks {}

impl Tasks {
    pub(in crate::pool) fn new(count: usize) -> Self {
        let header = |n| Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, Location::caller()).numbered(n);
        Tasks((1..=count).map(|n| header(n as u64)).collect())
    }

    /// Task number `n`.
    pub(in crate::pool) fn task(&self, n: usize) -> TaskRef {
        TaskRef(NonNull::from(&self.0[n - 1]))
    }
}

/// One of 1000 tasks with headers that belong to this thread.
#[cfg(not(loom))]
pub(in crate::pool) fn own_task(n: usize) -> TaskRef {
    thread_local!(static TASKS: Tasks = Tasks::new(1000));
    TASKS.with(|tasks| tasks.task(n))
}

/// Joins each thread. If a thread has panicked, raises its panic again.
#[cfg(not(loom))]
pub(in crate::pool) fn join(threads: Vec<std::thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}

/// One cell per task. The putter fills it, and the taker empties it. ThreadSanitizer and loom
/// complain if the fill does not happen before the emptying, or if a task has two takers.
pub(in crate::pool) struct Payloads {
    cells: Box<[Cell]>,
    /// If the pool links its tasks.
    tasks: Option<Tasks>,
}

#[cfg(loom)]
type Cell = loom::cell::UnsafeCell<usize>;
#[cfg(not(loom))]
type Cell = std::cell::UnsafeCell<usize>;

// SAFETY: the tests check whether the accesses to a cell are ordered. If a pool breaks its
// contract, the checkers or a wrong count in a cell show it.
unsafe impl Sync for Payloads {}

impl Payloads {
    pub(in crate::pool) fn new(tasks: usize) -> Self {
        Payloads { cells: (0..=tasks).map(|_| Cell::new(0)).collect(), tasks: None }
    }

    /// The same for tasks with headers.
    pub(in crate::pool) fn of_headers(tasks: usize) -> Self {
        Payloads { tasks: Some(Tasks::new(tasks)), ..Payloads::new(tasks) }
    }

    /// Fills the cell of task `n`, and returns the task.
    pub(in crate::pool) fn fill(&self, n: usize) -> TaskRef {
        self.change(n, 0, 1);
        self.tasks.as_ref().map_or_else(|| task(n), |tasks| tasks.task(n))
    }

    /// Empties the cell of a taken task.
    pub(in crate::pool) fn empty(&self, taken: TaskRef) {
        self.change(number(taken), 1, 2);
    }

    #[cfg(not(loom))]
    fn change(&self, n: usize, from: usize, to: usize) {
        // SAFETY: as above.
        let cell = unsafe { &mut *self.cells[n].get() };
        assert_eq!(*cell, from, "task {n}");
        *cell = to;
    }

    #[cfg(loom)]
    fn change(&self, n: usize, from: usize, to: usize) {
        self.cells[n].with_mut(|cell| {
            // SAFETY: as above; loom checks it.
            let cell = unsafe { &mut *cell };
            assert_eq!(*cell, from, "task {n}");
            *cell = to;
        });
    }

    /// Checks that every task was taken.
    pub(in crate::pool) fn check(&mut self) {
        for n in 1..self.cells.len() {
            self.change(n, 2, 3);
        }
    }
}
