//! A worker of a task pool: what it puts and takes, and its working phase.

use super::block::{ArgBlock, TaskBlock};
use super::{Counters, Function, Seat, TaskPool};
use crate::engine::{DefaultMemory, DefaultPool};
use crate::memory::{Block, Memory};
use crate::pool::{Leave, Pool, Put};
use crate::sync::MutexGuard;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

/// A worker, on the thread that is it: a task is handed the one that runs it.
///
/// ```
/// use millpond::taskpool::TaskPool;
///
/// let pool = TaskPool::<u32>::create(1);
/// let mut worker = pool.worker(0);
/// worker.put(|_, n| assert_eq!(n, 7), 7);
/// // As `run` does it.
/// while let Some(task) = worker.get() {
///     let (function, argument) = worker.free_task(task);
///     let argument = worker.free_arg(argument);
///     function(&mut worker, argument);
/// }
/// ```
pub struct Worker<'p, A, M: Memory = DefaultMemory, P: Pool = DefaultPool> {
    tasks: &'p TaskPool<A, M, P>,
    number: usize,
    seat: MutexGuard<'p, Seat<M, P>>,
}

impl<'p, A, M: Memory, P: Pool> Worker<'p, A, M, P> {
    pub(super) fn new(tasks: &'p TaskPool<A, M, P>, number: usize, seat: MutexGuard<'p, Seat<M, P>>) -> Self {
        Worker { tasks, number, seat }
    }

    /// Which worker it is, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Puts a task: at the worker's own place, if the pool has queues of workers.
    #[inline]
    pub fn put(&mut self, function: Function<A, M, P>, argument: A) {
        let argument = self.alloc_arg(argument);
        let task = self.alloc_task(function, argument);
        self.put_task(task);
    }

    /// An argument, in a block of the memory manager's.
    #[inline]
    pub fn alloc_arg(&mut self, value: A) -> ArgBlock<'p, A, M, P> {
        ArgBlock::new(self.tasks, &mut self.seat.memory, value)
    }

    /// Gives an argument's block back; any worker of the pool may.
    ///
    /// # Panics
    ///
    /// If it is another pool's.
    #[inline]
    pub fn free_arg(&mut self, argument: ArgBlock<'p, A, M, P>) -> A {
        let (value, block) = argument.into_parts(self.tasks);
        self.free(block);
        value
    }

    /// A task, in a block of the memory manager's.
    ///
    /// # Panics
    ///
    /// If the argument is another pool's.
    #[inline]
    pub fn alloc_task(
        &mut self,
        function: Function<A, M, P>,
        argument: ArgBlock<'p, A, M, P>,
    ) -> TaskBlock<'p, A, M, P> {
        TaskBlock::new(self.tasks, &mut self.seat.memory, function, argument)
    }

    /// Gives a task's block back; any worker of the pool may.
    ///
    /// # Panics
    ///
    /// If it is another pool's.
    #[inline]
    pub fn free_task(&mut self, task: TaskBlock<'p, A, M, P>) -> (Function<A, M, P>, ArgBlock<'p, A, M, P>) {
        let (function, argument, block) = task.into_parts(self.tasks);
        self.free(block);
        (function, argument)
    }

    /// Puts a task.
    ///
    /// # Panics
    ///
    /// If it is another pool's.
    #[inline]
    pub fn put_task(&mut self, task: TaskBlock<'p, A, M, P>) {
        let task = task.into_ref(self.tasks);
        if self.tasks.pool.put(&mut self.seat.pool, task, Put::Spawned) {
            self.tasks.phase.sleep.work_arrived();
        }
    }

    /// Takes a task, perhaps another worker's: none if one look at the pool finds none.
    #[inline]
    pub fn get(&mut self) -> Option<TaskBlock<'p, A, M, P>> {
        let task = self.tasks.pool.take(&mut self.seat.pool).or_else(|| self.steal())?;
        // SAFETY: what is in the pool was put by `put_task`.
        Some(unsafe { TaskBlock::taken(self.tasks, task) })
    }

    fn steal(&mut self) -> Option<crate::task::TaskRef> {
        let TaskPool { pool, phase, .. } = self.tasks;
        let task = pool.steal(&mut self.seat.pool)?;
        bump(&self.counters().steals);
        // A put wakes one, who takes perhaps one of several.
        if phase.sleep.sleepers() != 0 && pool.has_work() {
            phase.sleep.work_arrived();
        }
        Some(task)
    }

    /// The working phase.
    pub(super) fn work(self) {
        let pool = &self.tasks.pool;
        let mut member = self.tasks.phase.enter();
        // Ends before its membership does, if a task panics: what it has is shown while it is counted.
        let mut worker = self;
        loop {
            while let Some(task) = worker.get() {
                worker.execute(task);
            }
            if !pool.balances() {
                return;
            }
            worker.tasks.memory.idle(&mut worker.seat.memory);
            pool.hungry(true);
            let more = member.wait_for_work(worker.number, || pool.has_work());
            pool.hungry(false);
            if !more {
                return;
            }
        }
    }

    #[inline]
    fn execute(&mut self, task: TaskBlock<'p, A, M, P>) {
        // As `free_task` and `free_arg`, but that no block's holder is alive meanwhile: it would go through memory.
        let (function, argument, record) = task.into_parts(self.tasks);
        let (argument, block) = argument.into_parts(self.tasks);
        self.free(record);
        self.free(block);
        bump(&self.counters().tasks);
        if self.tasks.pool.expose(&mut self.seat.pool) {
            self.tasks.phase.sleep.work_arrived();
        }
        function(self, argument);
    }

    #[inline]
    fn free(&mut self, block: Block) {
        // SAFETY: of this pool's manager, as was checked; who held it is gone.
        unsafe { self.tasks.memory.free(&mut self.seat.memory, block) };
    }

    /// Gives back the blocks whose holders did not.
    pub(super) fn take_strays(&mut self) {
        let stray = std::mem::take(&mut *self.tasks.stray.lock());
        stray.into_iter().for_each(|block| self.free(block));
    }

    #[inline]
    fn counters(&self) -> &'p Counters {
        &self.tasks.counters[self.number]
    }
}

/// Counts without a read-modify-write: only this worker writes.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl<A, M: Memory, P: Pool> Drop for Worker<'_, A, M, P> {
    /// What it has put others may take, if the pool balances loads.
    fn drop(&mut self) {
        if self.tasks.pool.leave(&mut self.seat.pool, Leave::Body) {
            self.tasks.phase.sleep.work_arrived();
        }
    }
}

impl<A, M: Memory, P: Pool> std::fmt::Debug for Worker<'_, A, M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("number", &self.number).finish_non_exhaustive()
    }
}
