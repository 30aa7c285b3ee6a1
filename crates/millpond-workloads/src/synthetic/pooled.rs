//! The synthetic algorithm on a task pool and nothing else, as the paper runs it (TP §7.2): no scope, no data.

use crate::synthetic::work;
use millpond::memory::Memory;
use millpond::pool::Pool;
use millpond::taskpool::{TaskPool, Worker};

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
/// use millpond_workloads::synthetic::{self, pooled};
///
/// let pool: TaskPool<pooled::Step> = TaskPool::create(2);
/// pooled::init(&pool, 15, 0);
/// pool.run_all();
/// let ran: u64 = pool.counts().iter().map(|counts| counts.tasks).sum();
/// assert_eq!(ran, synthetic::count(15));
/// ```
pub fn init<M: Memory, P: Pool>(pool: &TaskPool<Step, M, P>, k: u64, f: u64) {
    let initial = (0..k as i64).rev().map(|i| Step { i, f });
    for (nth, step) in initial.enumerate() {
        pool.init(nth % pool.workers(), task, step);
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
