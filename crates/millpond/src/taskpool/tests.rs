//! Wake-ups: how often a pool asks for one, and how often a worker is woken (TP §6.3).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::*;
use crate::limit::limit;
use crate::memory::AnyMemory;
use crate::pool::params::Params;
use crate::pool::variants::by_name;
use crate::pool::{AnyPool, Counts};

type Any<A> = TaskPool<A, AnyMemory, AnyPool>;

fn any<A: Send>(workers: usize, pool: &str, idle: Idle) -> Any<A> {
    let pool = by_name(pool, Params::default()).unwrap();
    TaskPool::create_with(workers, &Default::default(), &pool, idle)
}

/// One worker runs a complete binary tree of this depth.
fn of_a_tree(name: &str, depth: u32) -> (Counts, u64) {
    fn node(worker: &mut Worker<'_, u32, AnyMemory, AnyPool>, depth: u32) {
        if depth > 0 {
            worker.put(node, depth - 1);
            worker.put(node, depth - 1);
        }
    }
    let pool = any(1, name, Idle::ByPool);
    pool.init(0, node, depth);
    pool.run(0);
    (pool.pool_counts(), pool.counts()[0].tasks)
}

#[test]
fn pools_differ_in_how_often_a_put_asks_for_a_wake_up() {
    const DEPTH: u32 = 9;
    let tasks = (1 << (DEPTH + 1)) - 1;
    // The worker runs the newer child and all below it. Then its queue has only the older child. So
    // a put finds the queue empty once per level, and the initial task does, too.
    for (name, calls) in [("dq2", tasks), ("dq9", 1 + u64::from(DEPTH)), ("dq10", 0), ("dq7", tasks), ("dq1", 0)] {
        let (counts, ran) = of_a_tree(name, DEPTH);
        assert_eq!((counts.wake_calls, counts.wake_ups, ran), (calls, 0, tasks), "{name}");
    }
}

/// A body puts a task whenever the other worker sleeps, or has searched long enough to do so.
/// Returns how often that worker was woken.
fn woken(name: &str, idle: Idle, rounds: u64) -> u64 {
    type Shared<'a> = (&'a AtomicU64, u64);
    fn short(_: &mut Worker<'_, Shared<'_>, AnyMemory, AnyPool>, (ran, _): Shared<'_>) {
        ran.fetch_add(1, Relaxed);
    }
    fn long<'a>(worker: &mut Worker<'_, Shared<'a>, AnyMemory, AnyPool>, (ran, rounds): Shared<'a>) {
        for round in 0..rounds {
            thread::sleep(Duration::from_millis(2));
            worker.put(short, (ran, 0));
            while ran.load(Relaxed) == round {
                thread::yield_now();
            }
        }
    }
    let ran = AtomicU64::new(0);
    let pool: Any<Shared<'_>> = any(2, name, idle);
    pool.init(0, long, (&ran, rounds));
    limit(60, format!("wake-ups of {name}"), || {
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                // If this worker comes first, it takes the long task, or leaves and comes again.
                while ran.load(Relaxed) < rounds {
                    pool.run(1);
                }
            });
            while ran.load(Relaxed) < rounds {
                pool.run(0);
            }
            other.join().unwrap();
        });
    });
    pool.pool_counts().wake_ups
}

#[test]
fn workers_sleep_as_the_pool_says_unless_the_program_chooses() {
    const ROUNDS: u64 = 20;
    // On a busy machine, the other worker may not have slept in some of the rounds.
    for name in ["dq2", "dq9", "default"] {
        let times = woken(name, Idle::ByPool, ROUNDS);
        assert!((1..=ROUNDS).contains(&times), "{name}: {times}");
    }
    assert_eq!(woken("dq2", Idle::Busy, ROUNDS), 0);
    for idle in [Idle::ByPool, Idle::Sleep] {
        assert_eq!(woken("dq10", idle, ROUNDS), 0, "its puts wake no worker, so none may sleep");
    }
}

#[test]
fn the_pool_chooses_what_an_idle_worker_does() {
    fn under(name: &str, idle: Idle) -> Idle {
        let (pool, _locals) = AnyPool::with(1, &by_name(name, Params::default()).unwrap());
        idle.under(&pool)
    }
    let by_pool = ["default", "sq1", "dq2", "dq9", "dq8", "dq10"].map(|name| under(name, Idle::ByPool));
    assert_eq!(by_pool, [Idle::Hybrid, Idle::Sleep, Idle::Sleep, Idle::Sleep, Idle::Sleep, Idle::Busy]);
    for idle in [Idle::Hybrid, Idle::Sleep, Idle::Busy] {
        assert_eq!([under("dq2", idle), under("default", idle), under("dq10", idle)], [idle, idle, Idle::Busy]);
    }
}
