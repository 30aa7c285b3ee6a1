//! Phases: workers that come late, bodies that panic, and tasks that remain.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use millpond::catalogue::POOLS;
use millpond::taskpool::{Function, TaskPool};

use super::{Any, any};
use crate::common::limit;

fn text(panicked: thread::Result<()>) -> String {
    let payload = panicked.expect_err("a panic");
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string()))
        .expect("text")
}

#[test]
fn without_tasks_it_ends_at_once() {
    for row in POOLS {
        for workers in [1, 3] {
            let pool: Any<()> = any(workers, row.name, "default");
            limit(60, format!("no tasks on {}", row.name), || pool.run_all());
            assert_eq!(pool.finalize(), 0);
        }
    }
}

#[test]
fn a_pool_for_one_of_its_workers_only() {
    for row in POOLS {
        let pool: Any<u32> = any(3, row.name, "default");
        pool.init(1, |worker, n| (0..n).for_each(|_| worker.put(|_, _| (), 0)), 9);
        limit(60, format!("one worker of {}", row.name), || pool.run(1));
        assert_eq!(pool.counts()[1].tasks, 10, "{}", row.name);
    }
}

/// A body that ends only when another worker has run a task that the body has put. That worker was
/// awake, or was woken.
#[test]
fn others_run_what_a_long_body_puts() {
    // dq1 and dq3 do not balance loads.
    for row in POOLS.iter().filter(|row| !["dq1", "dq3"].contains(&row.name)) {
        let helped = AtomicU32::new(0);
        let pool = any::<(usize, &AtomicU32)>(2, row.name, "default");
        let long: Function<(usize, &AtomicU32), _, _> = |worker, (_, helped)| {
            let short: Function<(usize, &AtomicU32), _, _> =
                |worker, (putter, helped)| _ = helped.fetch_or((worker.number() != putter).into(), Relaxed);
            // Two blocks of four, for the pools that show only whole blocks.
            (0..8).for_each(|_| worker.put(short, (worker.number(), helped)));
            while helped.load(Relaxed) == 0 {
                thread::yield_now();
            }
        };
        let work = |number| {
            // A worker that comes before there is a task leaves, and comes again.
            while helped.load(Relaxed) == 0 {
                pool.run(number);
            }
        };
        for _ in 0..20 {
            helped.store(0, Relaxed);
            pool.init(0, long, (0, &helped));
            limit(60, format!("a long body on {}", row.name), || {
                thread::scope(|s| {
                    let other = s.spawn(|| work(1));
                    work(0);
                    other.join().expect("no panic");
                });
            });
            // What came after the first task that another worker ran.
            pool.run(0);
        }
    }
}

#[test]
fn a_panic_ends_its_worker_and_no_other() {
    for row in POOLS {
        let pool: Any<u32> = any(2, row.name, "default");
        let panics: Function<u32, _, _> = |worker, n| {
            worker.put(|_, _| (), n);
            panic!("task {n}");
        };
        pool.init(0, panics, 7);
        (0..20).for_each(|n| pool.init(n as usize % 2, |_, _| (), n));
        let panicked =
            limit(60, format!("a panic on {}", row.name), || catch_unwind(AssertUnwindSafe(|| pool.run_all())));
        assert_eq!(text(panicked), "task 7", "{}", row.name);
        // The tasks that have not run are there for the next phase.
        limit(60, format!("after a panic on {}", row.name), || pool.run_all());
        let ran: u64 = pool.counts().iter().map(|counts| counts.tasks).sum();
        assert_eq!(ran, 22, "{}", row.name);
    }
}

#[test]
fn what_is_left_is_dropped() {
    for row in POOLS {
        let held = Arc::new(());
        let pool: Any<Arc<()>> = any(3, row.name, "default");
        (0..10).for_each(|n| pool.init(n % 3, |_, _| unreachable!("it is never run"), held.clone()));
        assert_eq!(Arc::strong_count(&held), 11);
        assert_eq!(pool.finalize(), 10, "{}", row.name);
        assert_eq!(Arc::strong_count(&held), 1, "{}", row.name);
    }
}

#[test]
fn misuse_says_what_is_wrong() {
    let pool = TaskPool::<u32>::create(2);
    let says = |misuse: &dyn Fn()| text(catch_unwind(AssertUnwindSafe(misuse)));
    assert_eq!(says(&|| pool.run(2)), "there is no worker 2: they are numbered from 0 to 1");
    assert_eq!(says(&|| drop(TaskPool::<u32>::create(0))), "a task pool has at least one worker");
    let worker = pool.worker(1);
    assert_eq!(says(&|| pool.init(1, |_, _| (), 0)), "worker 1 is held by a thread already");
    drop(worker);
    pool.init(1, |_, _| (), 0);
    assert_eq!(pool.finalize(), 1);
}

/// Threads that start phases again and again, at any time, while others end theirs.
#[test]
fn late_workers_find_tasks_or_leave() {
    let few = if cfg!(any(millpond_tsan, millpond_asan)) { 50 } else { 1000 };
    let ran = AtomicU32::new(0);
    let pool = TaskPool::<(u32, &AtomicU32)>::create(3);
    limit(120, "late workers", || {
        thread::scope(|s| {
            let work = |number: usize| {
                for _ in 0..few {
                    pool.init(
                        number,
                        |worker, (n, ran)| {
                            ran.fetch_add(1, Relaxed);
                            (0..n).for_each(|_| worker.put(|_, (_, ran)| _ = ran.fetch_add(1, Relaxed), (0, ran)));
                        },
                        (3, &ran),
                    );
                    pool.run(number);
                }
            };
            let threads: Vec<_> = (0..3).map(|number| s.spawn(move || work(number))).collect();
            threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        });
    });
    pool.run(0);
    assert_eq!(ran.load(Relaxed), 3 * few * 4);
}
