//! The task program, on a task pool and nothing else, as the paper runs it: no scope, no data.

use super::{Params, work};
use crate::workload::{PoolParts, Probe};
use millpond::memory::Memory;
use millpond::memory::any::AnyMemory;
use millpond::pool::Pool;
use millpond::pool::any::AnyPool;
use millpond::taskpool::{TaskPool, Worker};
use millpond::{DefaultMemory, DefaultPool};

/// The argument of a task `A(i)`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    i: i64,
    f: u64,
}

/// Puts the initial tasks `A(k - 1)` to `A(0)`: by this thread, for each worker in turn.
///
/// ```
/// use millpond::taskpool::TaskPool;
/// use millpond_workloads::synthetic::{Params, Step, count, init};
///
/// let pool: TaskPool<Step> = TaskPool::create(2);
/// init(&pool, Params { k: 15, f: 0 });
/// pool.run_all();
/// let ran: u64 = pool.counts().iter().map(|counts| counts.tasks).sum();
/// assert_eq!(ran, count(15));
/// ```
pub fn init<M: Memory, P: Pool>(pool: &TaskPool<Step, M, P>, Params { k, f }: Params) {
    for (nth, i) in (0..k as i64).rev().enumerate() {
        pool.init(nth % pool.workers(), task, Step { i, f });
    }
}

fn task<M: Memory, P: Pool>(worker: &mut Worker<'_, Step, M, P>, Step { i, f }: Step) {
    if i > 0 {
        work(10 * f);
        worker.put(task, Step { i: i - 2, f });
        work(50 * f);
        worker.put(task, Step { i: i - 1, f });
    }
    work(100 * f);
}

/// Runs all tasks, in a pool of these parts; how many they were. The default parts are called directly, others through
/// tables of functions.
pub fn tasks(params: Params, parts: &PoolParts, probe: &mut dyn Probe) -> u64 {
    let PoolParts { pool, memory, .. } = parts;
    if (pool.name(), memory.name()) == (DefaultPool::NAME, DefaultMemory::NAME) {
        run::<DefaultMemory, DefaultPool>(params, parts, &(), &(), probe)
    } else {
        run::<AnyMemory, AnyPool>(params, parts, memory, pool, probe)
    }
}

fn run<M: Memory, P: Pool>(
    params: Params,
    parts: &PoolParts,
    memory: &M::Choice,
    pool: &P::Choice,
    probe: &mut dyn Probe,
) -> u64 {
    let pool: TaskPool<Step, M, P> = TaskPool::create_with(parts.workers, memory, pool, parts.idle);
    probe.start();
    init(&pool, params);
    pool.run_all();
    probe.stop();
    pool.counts().iter().map(|counts| counts.tasks).sum()
}
