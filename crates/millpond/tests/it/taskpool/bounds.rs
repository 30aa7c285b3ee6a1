//! The bounds of pools that do not balance loads, for the synthetic algorithm (TP §7.2, §8.1). The
//! workers get `k` initial tasks in turn. Each worker runs its own tasks and their descendants. The
//! test counts tasks, so it works on any machine.

use millpond::memory::Memory;
use millpond::pool::Pool;
use millpond::taskpool::Worker;

use super::{Any, any};
use crate::common::limit;

fn step<M: Memory, P: Pool>(worker: &mut Worker<'_, i64, M, P>, i: i64) {
    if i > 0 {
        worker.put(step, i - 2);
        worker.put(step, i - 1);
    }
}

/// The speed-up for `k = 25`, if all tasks take the same time and nothing else takes time.
fn bound(pool: &str, workers: usize) -> f64 {
    const K: i64 = 25;
    let tree: Any<i64> = any(workers, pool, "default");
    (0..K).rev().enumerate().for_each(|(nth, i)| tree.init(nth % workers, step, i));
    limit(60, format!("the bound of {pool}"), || tree.run_all());
    let tasks: Vec<u64> = tree.counts().iter().map(|counts| counts.tasks).collect();
    let all: u64 = tasks.iter().sum();
    // Table 4.
    assert_eq!(all, 635_593);
    all as f64 / *tasks.iter().max().expect("a worker") as f64
}

#[test]
fn those_of_the_paper() {
    for pool in ["dq1", "dq3"] {
        // The paper measures 1.59 and 1.60 with 2 threads, 2.18 and 2.20 with 4.
        for (workers, expected) in [(1, 1.0), (2, 1.62), (4, 2.24), (12, 2.6)] {
            let found = bound(pool, workers);
            assert!((found - expected).abs() < 0.02, "{pool}, {workers} workers: {found}");
        }
    }
}
