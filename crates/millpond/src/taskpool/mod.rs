//! A stand-alone task pool: the interface of [TP](crate#sources) §6.1, Figure 2.
//!
//! A task is a [function](Function) and an argument of a fixed size. Tasks declare no data and have
//! no order. A task may put others. You put the *initial* tasks with [`init`](TaskPool::init). The
//! workers are your threads. Each performs its *working phase* with [`run`](TaskPool::run): it
//! takes tasks until none is left and no worker runs one. Any pool and any memory manager of the
//! runtime's families can be used.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//! use millpond::taskpool::{TaskPool, Worker};
//!
//! type Range<'a> = (u64, u64, &'a AtomicU64);
//!
//! fn sum<'a>(worker: &mut Worker<'_, Range<'a>>, (from, to, total): Range<'a>) {
//!     let middle = from.midpoint(to);
//!     if to - from > 100 {
//!         worker.put(sum, (from, middle, total));
//!         worker.put(sum, (middle, to, total));
//!     } else {
//!         total.fetch_add((from..to).sum(), Relaxed);
//!     }
//! }
//!
//! let total = AtomicU64::new(0);
//! let pool = TaskPool::create(2);
//! pool.init(0, sum, (0, 10_001, &total));
//! std::thread::scope(|s| {
//!     for worker in 0..2 {
//!         s.spawn({ let pool = &pool; move || pool.run(worker) });
//!     }
//! });
//! assert_eq!(total.load(Relaxed), 50_005_000);
//! assert_eq!(pool.finalize(), 0);
//! ```
//!
//! | Figure 2 | here |
//! |---|---|
//! | `tpool_create(n, arg_size)` | [`TaskPool::create`]; the argument's type has a size |
//! | `tpool_finalize()` | [`TaskPool::finalize`], or a drop |
//! | `tpool_init(tid, f, arg)` | [`TaskPool::init`] |
//! | `tpool_put(tid, f, arg)` | [`Worker::put`], or [`Worker::put_task`] |
//! | `tpool_run(tid)` | [`TaskPool::run`] |
//! | `tpool_get(tid, &f, &arg)` | [`Worker::get`] |
//! | `tpool_alloc_arg(tid)`, `tpool_free_arg(tid, arg)` | [`Worker::alloc_arg`], [`Worker::free_arg`] |
//! | `tpool_alloc_task(tid)`, `tpool_free_task(tid, task)` | [`Worker::alloc_task`], [`Worker::free_task`] |
//!
//! As in the paper, a task is two blocks: one for the pool's record of it, one for its argument.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_utils::CachePadded;

use crate::memory::DefaultMemory;
use crate::memory::{Block, Memory};
use crate::pool::{Counts, DefaultPool, Pool};
use crate::sync::Mutex;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;
use crate::worker::WorkerCounts;
use crate::worker::sleep::Idle;
use phase::Phase;

mod block;
mod phase;
#[cfg(all(test, not(loom)))]
mod tests;
mod worker;

pub use block::{ArgBlock, TaskBlock};
pub use worker::Worker;

/// The function of a task. It gets its worker and the argument.
///
/// ```
/// use millpond::taskpool::{Function, TaskPool};
///
/// // A task that does nothing, and one that puts a task.
/// let nothing: Function<u32> = |_, _| ();
/// let chain: Function<u32> = |worker, left| if left > 0 { worker.put(|_, _| (), left - 1) };
/// let pool = TaskPool::create(1);
/// pool.init(0, nothing, 1);
/// pool.init(0, chain, 1);
/// pool.run(0);
/// assert_eq!(pool.counts()[0].tasks, 3);
/// ```
pub type Function<A, M = DefaultMemory, P = DefaultPool> = fn(&mut Worker<'_, A, M, P>, A);

/// A task pool whose workers are the caller's threads; see the [module](self).
pub struct TaskPool<A, M: Memory = DefaultMemory, P: Pool = DefaultPool> {
    pool: P,
    memory: M,
    phase: Phase,
    locals: Box<[CachePadded<Mutex<Local<M, P>>>]>,
    counters: Box<[CachePadded<Counters>]>,
    /// Blocks whose holders did not give them back; see [`ArgBlock`].
    stray: Mutex<Vec<Block>>,
    /// The pool owns arguments, and also takes and returns them. So it is invariant in their
    /// lifetimes.
    argument: std::marker::PhantomData<(A, fn(A) -> A)>,
}

// SAFETY: unlike its parts, it has blocks: the arguments in the pool, and stray ones. The pool owns
// them. One thread at a time reaches them: the one that has taken the task, or the one that holds
// the lock.
unsafe impl<A: Send, M: Memory, P: Pool> Sync for TaskPool<A, M, P> {}
// SAFETY: as above.
unsafe impl<A: Send, M: Memory, P: Pool> Send for TaskPool<A, M, P> {}

/// The private part of one worker, locked by the thread that acts as this worker.
struct Local<M: Memory, P: Pool> {
    pool: P::Local,
    memory: M::Local,
}

/// Written by one worker, read by all.
#[derive(Debug, Default)]
struct Counters {
    tasks: AtomicU64,
    steals: AtomicU64,
}

impl<A: Send> TaskPool<A> {
    /// A pool for `workers` workers, with the default pool and memory manager.
    ///
    /// # Panics
    ///
    /// If there are no workers, or the argument's alignment is more than 64.
    pub fn create(workers: usize) -> Self {
        Self::create_with(workers, &(), &(), Idle::default())
    }
}

impl<A, M: Memory, P: Pool> TaskPool<A, M, P> {
    /// A pool for `workers` workers, with these parts. `idle` says what a worker without a task
    /// does. A pool that waits busily (`dq10`) ignores it.
    ///
    /// ```
    /// use millpond::Idle;
    /// use millpond::memory::{AnyMemory, variants::by_name as manager_of};
    /// use millpond::pool::{AnyPool, params::Params, variants::by_name as pool_of};
    /// use millpond::taskpool::TaskPool;
    ///
    /// let memory = manager_of("dgbkof").unwrap();
    /// let dq8 = pool_of("dq8", Params::default()).unwrap();
    /// let pool: TaskPool<u32, AnyMemory, AnyPool> = TaskPool::create_with(1, &memory, &dq8, Idle::Hybrid);
    /// pool.init(0, |worker, n| println!("worker {} has {n}", worker.number()), 6);
    /// pool.run(0);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`create`](TaskPool::create).
    pub fn create_with(workers: usize, memory: &M::Choice, pool: &P::Choice, idle: Idle) -> Self
    where
        A: Send,
    {
        assert!(workers > 0, "a task pool has at least one worker");
        block::check_alignment::<A>();
        let (memory, memories) = M::with(workers, memory);
        let (pool, pools) = P::with(workers, pool);
        let phase = Phase::new(workers, idle.under(&pool));
        let local = |(pool, memory)| CachePadded::new(Mutex::new(Local { pool, memory }));
        TaskPool {
            pool,
            memory,
            phase,
            locals: pools.into_iter().zip(memories).map(local).collect(),
            counters: (0..workers).map(|_| CachePadded::default()).collect(),
            stray: Mutex::new(Vec::new()),
            argument: std::marker::PhantomData,
        }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.locals.len()
    }

    /// Puts an initial task. If the pool has one queue per worker, it goes to worker `number`.
    ///
    /// # Panics
    ///
    /// If there is no such worker, or it is [held](TaskPool::worker).
    pub fn init(&self, number: usize, function: Function<A, M, P>, argument: A) {
        self.worker(number).put(function, argument);
    }

    /// The working phase of worker `number`, on this thread. It runs tasks until none is left and
    /// no worker runs one. If the pool does not balance loads, each worker returns when it has run
    /// its own tasks.
    ///
    /// All workers should begin at about the same time: a worker that begins after the others have
    /// left finds no task. Another phase may follow.
    ///
    /// # Panics
    ///
    /// As [`init`](TaskPool::init). Also if a task panics: the panic ends the phase of the worker
    /// that ran it. If the pool balances loads, the others run that worker's tasks. Tasks that no
    /// worker runs wait for the next phase.
    pub fn run(&self, number: usize) {
        self.worker(number).work();
    }

    /// The working phase of all workers: number 0 on this thread, each other one on a new thread.
    ///
    /// # Panics
    ///
    /// As [`run`](TaskPool::run), after all workers have left.
    pub fn run_all(&self)
    where
        A: Send,
    {
        std::thread::scope(|s| {
            let others: Vec<_> = (1..self.workers()).map(|number| s.spawn(move || self.run(number))).collect();
            // If this worker panics, it still waits for the others.
            let own = catch_unwind(AssertUnwindSafe(|| self.run(0)));
            let ends: Vec<_> = std::iter::once(own).chain(others.into_iter().map(|other| other.join())).collect();
            ends.into_iter().for_each(|end| end.unwrap_or_else(|payload| resume_unwind(payload)));
        });
    }

    /// Worker `number`, until it is dropped. Use it to put several initial tasks, or to use the
    /// memory manager.
    ///
    /// # Panics
    ///
    /// If there is no such worker, or if a thread already holds it by [`run`](TaskPool::run) or
    /// this function.
    pub fn worker(&self, number: usize) -> Worker<'_, A, M, P> {
        let workers = self.workers();
        assert!(number < workers, "there is no worker {number}: they are numbered from 0 to {}", workers - 1);
        let local = self.locals[number].try_lock();
        let local = local.unwrap_or_else(|| panic!("worker {number} is held by a thread already"));
        Worker::new(self, number, local)
    }

    /// How many tasks each worker has run, and how often it has stolen.
    pub fn counts(&self) -> Vec<WorkerCounts> {
        let counts = |counters: &CachePadded<Counters>| WorkerCounts {
            tasks: counters.tasks.load(Relaxed),
            steals: counters.steals.load(Relaxed),
            thefts: 0,
        };
        self.counters.iter().map(counts).collect()
    }

    /// What the pool has counted since it was made: calls for a wake-up, woken workers, and arrays
    /// beyond the first of a queue.
    ///
    /// ```
    /// use millpond::memory::AnyMemory;
    /// use millpond::pool::{AnyPool, params::Params, variants::by_name};
    /// use millpond::taskpool::TaskPool;
    /// use millpond::Idle;
    ///
    /// let sq2 = by_name("sq2", Params { capacity: 10, ..Params::default() }).unwrap();
    /// let pool: TaskPool<u32, AnyMemory, AnyPool> = TaskPool::create_with(1, &Default::default(), &sq2, Idle::ByPool);
    /// (0..25).for_each(|n| pool.init(0, |_, _| (), n));
    /// assert_eq!((pool.pool_counts().wake_calls, pool.pool_counts().more_arrays), (25, 2));
    /// ```
    pub fn pool_counts(&self) -> Counts {
        Counts { wake_ups: self.phase.sleep.wake_ups(), ..self.pool.counts() }
    }

    /// Destroys the pool, like a drop: the remaining tasks are dropped, not run. Returns their
    /// number.
    pub fn finalize(mut self) -> usize {
        self.clear()
    }

    /// Drops the remaining tasks.
    fn clear(&mut self) -> usize {
        let mut left = 0;
        for number in 0..self.workers() {
            // If a worker was forgotten, not dropped, its private part cannot be reached.
            let Some(local) = self.locals[number].try_lock() else { continue };
            let mut worker = Worker::new(self, number, local);
            while let Some(task) = worker.get() {
                let (_, argument) = worker.free_task(task);
                drop(worker.free_arg(argument));
                left += 1;
            }
            worker.take_strays();
        }
        left
    }
}

impl<A, M: Memory, P: Pool> Drop for TaskPool<A, M, P> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<A, M: Memory, P: Pool> std::fmt::Debug for TaskPool<A, M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskPool").field("workers", &self.locals.len()).finish_non_exhaustive()
    }
}
