//! Each task runs exactly once.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use millpond::catalogue::{MEMORY, POOLS};
use millpond::memory::Memory;
use millpond::pool::Pool;
use millpond::taskpool::Worker;

use super::{Any, any};
use crate::common::{limit, tasks};

/// The workers of each run.
const WORKERS: [usize; 4] = [1, 2, 3, 8];

/// The time limit in seconds for a run of 10^7 tasks, on a slow pool with more workers than cores,
/// on a busy machine.
const LIMIT: u64 = 300;

/// The number of runs of each task. Task `n` puts `2n + 1` and `2n + 2`.
type Seen<'a> = (usize, &'a [AtomicU8]);

fn node<'a, M: Memory, P: Pool>(worker: &mut Worker<'_, Seen<'a>, M, P>, (n, seen): Seen<'a>) {
    seen[n].fetch_add(1, Relaxed);
    for child in [2 * n + 1, 2 * n + 2] {
        if child < seen.len() {
            worker.put(node, (child, seen));
        }
    }
}

fn each_once(workers: usize, pool: &str, memory: &str, tasks: usize) {
    let seen: Box<[AtomicU8]> = (0..tasks).map(|_| AtomicU8::new(0)).collect();
    let tree: Any<Seen<'_>> = any(workers, pool, memory);
    // Two phases of one pool, each with all tasks.
    for phase in 1..=2 {
        tree.init(phase % workers, node, (0, &seen));
        tree.run_all();
        let wrong = seen.iter().position(|times| times.load(Relaxed) != phase as u8);
        assert_eq!(wrong, None, "{pool}, {memory}, {workers} workers, phase {phase}");
    }
    let counted: u64 = tree.counts().iter().map(|counts| counts.tasks).sum();
    assert_eq!(counted, 2 * tasks as u64);
    assert_eq!(tree.finalize(), 0);
}

#[test]
fn on_every_pool_with_few_workers_and_many() {
    for row in POOLS {
        for workers in WORKERS {
            let run = format!("each task once on {}, {workers} workers", row.name);
            limit(LIMIT, run, || each_once(workers, row.name, MEMORY[0].name, tasks()));
        }
    }
}

#[test]
fn with_every_memory_manager() {
    for row in MEMORY {
        for workers in WORKERS {
            let run = format!("each task once with {}, {workers} workers", row.name);
            limit(LIMIT, run, || each_once(workers, POOLS[0].name, row.name, tasks() / 10));
        }
    }
}

/// A manager whose blocks move between workers, under a pool that moves tasks all the time.
#[test]
fn with_every_manager_on_a_random_pool() {
    for row in MEMORY {
        let run = format!("each task once on rq2 with {}", row.name);
        limit(LIMIT, run, || each_once(3, "rq2", row.name, tasks() / 10));
    }
}
