//! Graphs that are long, wide or deep. Unoptimized code uses smaller sizes (`common::sized`). For
//! the full sizes, run `cargo test --release`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::common::{builder, limit, runtime, sized};
use millpond::catalogue::Names;
use millpond::{Access, Handle, Inline, Inout, Runtime, Spawn, join};

/// The default settings, and all tasks through the pool.
fn runtimes(workers: usize) -> [Runtime; 2] {
    [Inline::Auto, Inline::Never].map(|inline| builder(workers).inline(inline).build().unwrap())
}

#[test]
fn a_chain_on_one_handle() {
    limit(60, "chain", || {
        let n = sized(100_000, 1_000_000) as u64;
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let sum = Handle::new(0_u64);
            rt.scope(|s| {
                for i in 0..n {
                    // The order matters: each task checks its position.
                    s.spawn(sum.inout(), move |sum| {
                        *sum = if *sum == i { i + 1 } else { u64::MAX };
                    });
                }
            })
            .unwrap();
            assert_eq!(sum.into_inner().unwrap(), n);
        }
    });
}

#[test]
fn a_chain_issued_before_it_may_start() {
    limit(60, "held chain", || {
        let n = sized(100_000, 1_000_000);
        for workers in [1, 2] {
            let rt = builder(workers).window(n + 2).build().unwrap();
            let value = Handle::new(0);
            rt.scope(|s| {
                s.spawn(value.inout(), |_| thread::sleep(Duration::from_millis(20)));
                for _ in 0..n {
                    s.spawn(value.inout(), |value| *value += 1);
                }
            })
            .unwrap();
            assert_eq!(value.into_inner().unwrap(), n);
        }
    });
}

#[test]
fn many_readers_then_a_writer() {
    limit(60, "readers, then a writer", || {
        // In the graph scheme, each release scans their list (TG §4.1).
        let readers = if Names::default().scheme == "graph" { 5_000 } else { 100_000 };
        let rounds = sized(2, 5);
        for workers in [1, 2, 8] {
            // Room for all at once: every reader waits when the writer is spawned.
            let rt = builder(workers).window(readers + 2).inline(Inline::Never).build().unwrap();
            let (value, seen) = (Handle::new(0), AtomicUsize::new(0));
            for round in 0..rounds {
                let all_are_there = AtomicBool::new(false);
                rt.scope(|s| {
                    s.spawn(value.inout(), |_| {
                        while !all_are_there.load(Relaxed) {
                            thread::yield_now();
                        }
                    });
                    for _ in 0..readers {
                        s.spawn(value.read(), |value| {
                            assert_eq!(*value, round);
                            seen.fetch_add(1, Relaxed);
                        });
                    }
                    s.spawn(value.inout(), |value| *value += 1);
                    let early = seen.load(Relaxed);
                    all_are_there.store(true, Relaxed);
                    assert_eq!(early, round * readers);
                })
                .unwrap();
                assert_eq!(seen.load(Relaxed), (round + 1) * readers);
            }
            assert_eq!(value.into_inner().unwrap(), rounds);
        }
    });
}

#[test]
fn many_readers_that_run_as_they_are_spawned() {
    limit(60, "readers", || {
        let (readers, rounds) = (sized(20_000, 100_000), 5);
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let (value, seen) = (Handle::new(0_u64), AtomicU64::new(0));
            let seen = &seen;
            rt.scope(|s| {
                for round in 0..rounds {
                    for _ in 0..readers {
                        s.spawn(value.read(), move |value| {
                            assert_eq!(*value, round);
                            seen.fetch_add(1, Relaxed);
                        });
                    }
                    s.spawn(value.inout(), |value| *value += 1);
                }
            })
            .unwrap();
            assert_eq!(value.into_inner().unwrap(), rounds);
            assert_eq!(seen.load(Relaxed), rounds * readers as u64);
        }
    });
}

#[test]
fn many_readers_that_outlive_their_version() {
    limit(60, "readers and renames", || {
        let rounds = sized(20_000, 50_000);
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let (value, sum) = (Handle::new(0_u64), AtomicU64::new(0));
            let sum = &sum;
            rt.scope(|s| {
                for round in 1..=rounds as u64 {
                    s.spawn(value.write(), move |out| out.set(round));
                    for _ in 0..4 {
                        s.spawn(value.read(), |value| _ = sum.fetch_add(*value, Relaxed));
                    }
                }
            })
            .unwrap();
            let rounds = rounds as u64;
            assert_eq!(sum.load(Relaxed), 4 * rounds * (rounds + 1) / 2);
        }
    });
}

fn descend<'s, S: Spawn<'s>>(s: &S, depth: u64, value: Access<'_, u64, Inout, S::Brand>, wait: bool) {
    s.nest(value, move |s, mut value| {
        if depth > 1 {
            descend(s, depth - 1, value.inout(), wait);
        }
        if wait {
            let mut value = s.wait_on(&mut value).expect("no thread fails");
            assert_eq!(*value, depth - 1);
            *value += 1;
        } else {
            s.spawn(value.inout(), |value| *value += 1);
        }
    });
}

#[test]
fn deep_recursion_without_waits() {
    limit(60, "recursion without waits", || {
        let depth = sized(20_000, 100_000) as u64;
        for rt in [1, 2, 8].map(runtime) {
            let value = Handle::new(0);
            rt.scope(|s| descend(s, depth, value.inout(), false)).unwrap();
            assert_eq!(value.into_inner().unwrap(), depth);
        }
    });
}

#[test]
fn deep_recursion_with_waits() {
    limit(60, "recursion with waits", || {
        // The sanitizers need much memory for each stack.
        let depth = sized(20_000, 100_000) as u64;
        for workers in [1, 2, 8] {
            let value = Handle::new(0);
            runtime(workers).scope(|s| descend(s, depth, value.inout(), true)).unwrap();
            assert_eq!(value.into_inner().unwrap(), depth);
        }
    });
}

#[test]
fn deep_recursion_on_small_stacks() {
    limit(60, "recursion on small stacks", || {
        let depth = if cfg!(millpond_tsan) { 2_000 } else { 20_000 };
        for workers in [1, 2] {
            let rt =
                builder(workers).stack_size(if cfg!(millpond_asan) { 2 << 20 } else { 128 << 10 }).build().unwrap();
            let value = Handle::new(0);
            rt.scope(|s| descend(s, depth, value.inout(), true)).unwrap();
            assert_eq!(value.into_inner().unwrap(), depth);
        }
    });
}

#[test]
fn a_window_of_four_with_nested_spawns_that_wait() {
    limit(60, "window of four", || {
        let n = sized(200, 2_000);
        for (workers, window) in [(1, 4), (2, 4), (8, 4), (1, 1), (2, 1)] {
            let rt = builder(workers).window(window).build().unwrap();
            let values: Vec<_> = (0..8).map(|_| Handle::new(0_usize)).collect();
            rt.scope(|s| {
                for i in 0..n {
                    let (a, b) = (&values[i % 8], &values[(i + 3) % 8]);
                    s.nest((a.inout(), b.inout()), |s, (mut a, mut b)| {
                        for _ in 0..10 {
                            s.nest((a.inout(), b.inout()), |s, (mut a, b)| {
                                for _ in 0..6 {
                                    s.spawn(a.inout(), |a| *a += 1);
                                    s.spawn(b.inout(), |b| *b += 1);
                                }
                                assert!(s.wait_on(&mut a).is_ok());
                            });
                        }
                        assert_eq!(*s.wait_on(&mut a).unwrap() % 60, 0);
                        assert_eq!(*s.wait_on(&mut b).unwrap() % 60, 0);
                    });
                }
            })
            .unwrap();
            let sum: usize = values.into_iter().map(|value| value.into_inner().unwrap()).sum();
            assert_eq!(sum, n * 120);
        }
    });
}

#[test]
fn more_workers_than_processors() {
    limit(60, "32 workers", || {
        let n = sized(20_000, 200_000);
        for rt in runtimes(32) {
            let values: Vec<_> = (0..64).map(|_| Handle::new(0_usize)).collect();
            rt.scope(|s| {
                for i in 0..n {
                    let (a, b) = (&values[i * 7 % 64], &values[(i * 13 + 1) % 64]);
                    if i * 7 % 64 != (i * 13 + 1) % 64 {
                        s.spawn((a.read(), b.inout()), |(a, b)| *b = b.wrapping_mul(3).wrapping_add(*a + 1));
                    }
                }
            })
            .unwrap();
            let result: Vec<_> = values.into_iter().map(|value| value.into_inner().unwrap()).collect();
            assert_eq!(result, serial_mix(n));
        }
    });
}

fn serial_mix(n: usize) -> Vec<usize> {
    let mut values = vec![0_usize; 64];
    for i in 0..n {
        let (a, b) = (i * 7 % 64, (i * 13 + 1) % 64);
        if a != b {
            values[b] = values[b].wrapping_mul(3).wrapping_add(values[a] + 1);
        }
    }
    values
}

#[test]
fn very_many_tasks_through_the_window() {
    limit(120, "very many tasks", || {
        let n = sized(400_000, 10_000_000);
        for (workers, inline) in [(1, Inline::Auto), (2, Inline::Auto), (2, Inline::Never)] {
            let rt = builder(workers).window(256).inline(inline).build().unwrap();
            let ran = AtomicUsize::new(0);
            rt.scope(|s| {
                for _ in 0..n {
                    s.spawn((), |()| _ = ran.fetch_add(1, Relaxed));
                }
            })
            .unwrap();
            assert_eq!(ran.into_inner(), n);
        }
    });
}

#[test]
fn commutative_tasks_in_opposite_orders() {
    limit(60, "opposite orders", || {
        let n = sized(20_000, 50_000);
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let (a, b, c) = (Handle::new(0), Handle::new(0), Handle::new(0));
            rt.scope(|s| {
                for _ in 0..n {
                    s.spawn((a.commutative(), b.commutative()), |(a, b)| (*a, *b) = (*a + 1, *b + 1));
                    s.spawn((c.commutative(), b.commutative()), |(c, b)| (*c, *b) = (*c + 1, *b + 1));
                    s.spawn((b.commutative(), c.commutative(), a.commutative()), |(b, c, a)| {
                        (*a, *b, *c) = (*a + 1, *b + 1, *c + 1);
                    });
                    s.spawn((c.commutative(), a.commutative()), |(c, a)| (*c, *a) = (*c + 1, *a + 1));
                }
            })
            .unwrap();
            let sums = [a, b, c].map(|handle| handle.into_inner().unwrap());
            assert_eq!(sums, [3 * n; 3]);
        }
    });
}

#[test]
fn siblings_that_wait_while_they_hold_an_exclusion() {
    limit(60, "waiting holders", || {
        let n = sized(500, 5_000);
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let (lock, other) = (Handle::new(0), Handle::new(0));
            rt.scope(|s| {
                for _ in 0..n {
                    s.nest(lock.commutative(), |s, mut lock| {
                        s.spawn(lock.inout(), |lock| *lock += 1);
                        // The waiter must not run a sibling that needs the exclusive access that
                        // the waiter holds.
                        *s.wait_on(&mut lock).unwrap() += 1;
                    });
                    s.nest((other.commutative(), lock.commutative()), |s, (mut other, lock)| {
                        s.nest(lock.commutative(), |s, mut lock| *s.wait_on(&mut lock).unwrap() += 1);
                        *s.wait_on(&mut other).unwrap() += 1;
                    });
                }
            })
            .unwrap();
            assert_eq!((lock.into_inner().unwrap(), other.into_inner().unwrap()), (3 * n, n));
        }
    });
}

fn fork_sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 4 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = join(|| fork_sum(left), || fork_sum(right));
    left + right
}

#[test]
fn forks_in_leaves_in_parents() {
    limit(60, "forks", || {
        let numbers: Vec<u64> = (0..1000).collect();
        let numbers = &numbers;
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let total = Handle::new(0);
            rt.scope(|s| {
                for _ in 0..20 {
                    s.nest(total.inout(), move |s, mut total| {
                        for _ in 0..5 {
                            s.spawn(total.commutative(), move |total| *total += fork_sum(numbers));
                        }
                        assert_eq!(fork_sum(numbers), 499_500);
                        *s.wait_on(&mut total).unwrap() += 1;
                    });
                }
            })
            .unwrap();
            assert_eq!(total.into_inner().unwrap(), 100 * 499_500 + 20);
        }
    });
}

#[test]
fn parents_that_wait_for_each_of_their_children() {
    limit(60, "waits for children", || {
        let n = sized(200, 1_000);
        for rt in [1, 2, 8].into_iter().flat_map(runtimes) {
            let total = rt.scope(|s| {
                let parents: Vec<_> = (0..n)
                    .map(|i| {
                        s.nest((), move |s, ()| {
                            let joins: Vec<_> = (0..20).map(|k| s.spawn((), move |()| i * k)).collect();
                            joins.into_iter().rev().map(|join| s.wait(join).unwrap()).sum::<usize>()
                        })
                    })
                    .collect();
                parents.into_iter().rev().map(|join| s.wait(join).unwrap()).sum::<usize>()
            });
            assert_eq!(total.unwrap(), 190 * n * (n - 1) / 2);
        }
    });
}
