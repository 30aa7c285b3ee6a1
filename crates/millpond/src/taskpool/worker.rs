//! A worker of a task pool: what it puts and takes, and its working phase.

use super::block::{ArgBlock, TaskBlock};
use super::{Counters, Function, Local, TaskPool};
use crate::memory::DefaultMemory;
use crate::memory::{Block, Memory};
use crate::pool::DefaultPool;
use crate::pool::{Leave, Pool, Put};
use crate::sync::MutexGuard;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

/// A worker, on the thread that acts as it. Each task gets its worker.
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
    local: MutexGuard<'p, Local<M, P>>,
}

impl<'p, A, M: Memory, P: Pool> Worker<'p, A, M, P> {
    pub(super) fn new(tasks: &'p TaskPool<A, M, P>, number: usize, local: MutexGuard<'p, Local<M, P>>) -> Self {
        Worker { tasks, number, local }
    }

    /// The worker's number, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Puts a task. If the pool has one queue per worker, it goes to this worker's queue.
    #[inline]
    pub fn put(&mut self, function: Function<A, M, P>, argument: A) {
        let argument = self.alloc_arg(argument);
        let task = self.alloc_task(function, argument);
        self.put_task(task);
    }

    /// Makes an argument, in a block of the memory manager.
    #[inline]
    pub fn alloc_arg(&mut self, value: A) -> ArgBlock<'p, A, M, P> {
        ArgBlock::new(self.tasks, &mut self.local.memory, value)
    }

    /// Gives back an argument's block. Any worker of the pool may do so.
    ///
    /// # Panics
    ///
    /// If it belongs to another pool.
    #[inline]
    pub fn free_arg(&mut self, argument: ArgBlock<'p, A, M, P>) -> A {
        let (value, block) = argument.into_parts(self.tasks);
        self.free(block);
        value
    }

    /// Makes a task, in a block of the memory manager.
    ///
    /// # Panics
    ///
    /// If the argument belongs to another pool.
    #[inline]
    pub fn alloc_task(
        &mut self,
        function: Function<A, M, P>,
        argument: ArgBlock<'p, A, M, P>,
    ) -> TaskBlock<'p, A, M, P> {
        TaskBlock::new(self.tasks, &mut self.local.memory, function, argument)
    }

    /// Gives back a task's block. Any worker of the pool may do so.
    ///
    /// # Panics
    ///
    /// If it belongs to another pool.
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
    /// If it belongs to another pool.
    #[inline]
    pub fn put_task(&mut self, task: TaskBlock<'p, A, M, P>) {
        let task = task.into_ref(self.tasks);
        if self.tasks.pool.put(&mut self.local.pool, task, Put::Spawned) {
            self.tasks.phase.sleep.work_arrived();
        }
    }

    /// Takes a task, perhaps from another worker. `None` if one search of the pool finds none.
    #[inline]
    pub fn get(&mut self) -> Option<TaskBlock<'p, A, M, P>> {
        let task = self.tasks.pool.take(&mut self.local.pool).or_else(|| self.steal())?;
        // SAFETY: `put_task` put the task that the pool returns.
        Some(unsafe { TaskBlock::taken(self.tasks, task) })
    }

    fn steal(&mut self) -> Option<crate::task::TaskRef> {
        let TaskPool { pool, phase, .. } = self.tasks;
        let task = pool.steal(&mut self.local.pool)?;
        bump(&self.counters().steals);
        // A put wakes one worker, and that worker may take one of several tasks.
        if phase.sleep.sleepers() != 0 && pool.has_work() {
            phase.sleep.work_arrived();
        }
        Some(task)
    }

    /// Runs the working phase.
    pub(super) fn work(self) {
        let pool = &self.tasks.pool;
        let mut member = self.tasks.phase.enter();
        // If a task panics, `worker` is dropped before `member`. So it shows its tasks while it is
        // still counted.
        let mut worker = self;
        loop {
            while let Some(task) = worker.get() {
                worker.execute(task);
            }
            if !pool.balances() {
                return;
            }
            worker.tasks.memory.idle(&mut worker.local.memory);
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
        // Like `free_task` and `free_arg`, but no block's holder is alive meanwhile: a holder would
        // go through memory.
        let (function, argument, record) = task.into_parts(self.tasks);
        let (argument, block) = argument.into_parts(self.tasks);
        self.free(record);
        self.free(block);
        bump(&self.counters().tasks);
        if self.tasks.pool.expose(&mut self.local.pool) {
            self.tasks.phase.sleep.work_arrived();
        }
        function(self, argument);
    }

    #[inline]
    fn free(&mut self, block: Block) {
        // SAFETY: the block is of this pool's manager, as was checked, and its holder is gone.
        unsafe { self.tasks.memory.free(&mut self.local.memory, block) };
    }

    /// Frees the blocks that their holders did not give back.
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
    /// If the pool balances loads, others may take the tasks that this worker has put.
    fn drop(&mut self) {
        if self.tasks.pool.leave(&mut self.local.pool, Leave::Body) {
            self.tasks.phase.sleep.work_arrived();
        }
    }
}

impl<A, M: Memory, P: Pool> std::fmt::Debug for Worker<'_, A, M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("number", &self.number).finish_non_exhaustive()
    }
}
