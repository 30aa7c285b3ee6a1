//! The task program, on a task pool alone, as in the paper: no scope, no data.

use super::{Params, work};
use crate::workload::{PoolParts, Probe};
use millpond::memory::Memory;
use millpond::pool::{Counts, Pool};
use millpond::taskpool::{TaskPool, Worker};

/// The argument of a task `A(i)`.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub(super) i: i64,
    pub(super) f: u64,
}

/// Puts the initial tasks `A(k - 1)` to `A(0)` from this thread, round-robin over the workers.
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

fn task<M: Memory, P: Pool>(worker: &mut Worker<'_, Step, M, P>, step: Step) {
    step.run(|child| worker.put(task, child));
}

impl Step {
    /// Runs the task.
    #[inline]
    pub(super) fn run(self, mut put: impl FnMut(Step)) {
        let Step { i, f } = self;
        if i > 0 {
            work(10 * f);
            put(Step { i: i - 2, f });
            work(50 * f);
            put(Step { i: i - 1, f });
        }
        work(100 * f);
    }
}

/// Evaluates an expression with the types of a pool's parts and the values that select them. The
/// default parts are called directly, others through function tables.
macro_rules! with_parts {
    ($parts:expr, $M:ident, $P:ident, $memory:ident, $pool:ident => $run:expr) => {{
        let parts: &$crate::workload::PoolParts = $parts;
        if (parts.pool.name(), parts.memory.name()) == (millpond::DefaultPool::NAME, millpond::DefaultMemory::NAME) {
            type $M = millpond::DefaultMemory;
            type $P = millpond::DefaultPool;
            let ($memory, $pool) = (&(), &());
            $run
        } else {
            type $M = millpond::memory::AnyMemory;
            type $P = millpond::pool::AnyPool;
            let ($memory, $pool) = (&parts.memory, &parts.pool);
            $run
        }
    }};
}
pub(super) use with_parts;

/// Runs all tasks in a pool of these parts. Returns their number.
pub fn tasks(params: Params, parts: &PoolParts, probe: &mut dyn Probe) -> u64 {
    counted(params, parts, probe).0
}

/// The same. Also returns what the pool has counted.
pub(super) fn counted(params: Params, parts: &PoolParts, probe: &mut dyn Probe) -> (u64, Counts) {
    with_parts!(parts, M, P, memory, pool => {
        let pool: TaskPool<Step, M, P> = TaskPool::create_with(parts.workers, memory, pool, parts.idle);
        probe.start();
        init(&pool, params);
        pool.run_all();
        probe.stop();
        (ran(&pool), pool.pool_counts())
    })
}

/// The number of tasks run by the workers.
pub(super) fn ran<A, M: Memory, P: Pool>(pool: &TaskPool<A, M, P>) -> u64 {
    pool.counts().iter().map(|counts| counts.tasks).sum()
}
