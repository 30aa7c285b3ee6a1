//! Threads that race for slots through every table, both outside the graph and as its steps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use crate::common::{limited, runtime};
use millpond_cnc::{Blocked, Items, Kind, Preconditions, Settings, Table, graph_with};

const TABLES: [Table; 3] = [Table::Open, Table::Sharded, Table::SplitOrdered];

fn with(table: Table) -> Settings {
    Settings { table, ..Settings::default() }
}

/// One thread puts each key while others look for it. A thread that finds the key finds that value,
/// at one address.
#[test]
fn threads_outside_put_and_look() {
    const KEYS: u64 = 30_000;
    limited(|| {
        for table in TABLES {
            let look = |items: Items<'_, u64, u64>, key: u64| {
                items
                    .try_get(&key)
                    .inspect(|&&value| assert_eq!(value, !key))
                    .map(std::ptr::from_ref)
                    .map(<*const u64>::addr)
            };
            let found = graph_with(&runtime(1), with(table), |g| {
                let (items, start) = (g.items::<u64, u64>("item"), Barrier::new(4));
                let thread = |thread: u64| {
                    start.wait();
                    // Two threads put the keys of one residue each, in different orders. Two other
                    // threads look.
                    for n in 0..KEYS {
                        let key = if thread.is_multiple_of(2) { n } else { KEYS - 1 - n };
                        match thread {
                            0 | 1 if key % 2 == thread => items.put(key, !key),
                            _ => _ = look(items, key),
                        }
                    }
                    (0..KEYS).map(|key| look(items, key)).collect::<Vec<_>>()
                };
                thread::scope(|threads| {
                    let all = [0, 1, 2, 3].map(|n| threads.spawn(move || thread(n)));
                    all.map(|thread| thread.join().unwrap())
                })
            });
            let found = found.unwrap();
            let last: Vec<_> = (0..KEYS as usize).map(|key| found.iter().find_map(|found| found[key])).collect();
            assert!(last.iter().all(Option::is_some), "{table:?}");
            for found in found {
                assert!(found.iter().zip(&last).all(|(found, last)| found.is_none() || found == last), "{table:?}");
            }
        }
    });
}

/// Counts where it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Several threads put each key. One succeeds, and the others are refused. Every value is dropped
/// once.
#[test]
fn every_key_is_put_once() {
    const KEYS: usize = 2000;
    limited(|| {
        for table in TABLES {
            let dropped = Arc::new(AtomicUsize::new(0));
            let error = graph_with(&runtime(1), with(table), |g| {
                let (items, start) = (g.items::<(usize, usize), Counted>("item"), Barrier::new(4));
                thread::scope(|threads| {
                    for _ in 0..4 {
                        threads.spawn(|| {
                            start.wait();
                            (0..KEYS).for_each(|key| items.put((key % 7, key), Counted(dropped.clone())));
                        });
                    }
                });
                assert_eq!(dropped.load(Ordering::Relaxed), 3 * KEYS);
                assert_eq!(g.memory()[0].put, KEYS);
            });
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), Kind::SecondPut { .. }), "{error}");
            assert_eq!(dropped.load(Ordering::Relaxed), 4 * KEYS);
        }
    });
}

/// Threads outside prescribe steps of two collections. One step gets what the other puts. Any of
/// put, get and `wait_on` may come first (FP §V).
#[test]
fn steps_make_slots_in_any_order() {
    const STEPS: u32 = 5000;
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for table in TABLES {
                for (preconditions, blocked) in [
                    (Preconditions::Flexible, Blocked::Resume),
                    (Preconditions::Eager, Blocked::Resume),
                    (Preconditions::Eager, Blocked::Replay),
                ] {
                    let settings = Settings { preconditions, blocked, ..with(table) };
                    let sum = graph_with(&rt, settings, |g| {
                        let (from, to) = (g.items::<u32, u32>("from"), g.items::<(u32, u32, u32), u32>("to"));
                        let (puts, gets) = (g.tags("puts"), g.tags("gets"));
                        puts.prescribes(g.steps::<u32>("put").execute(move |n| async move { from.put(n, n) }));
                        let get = g.steps::<u32>("get").preconditions(move |&n, need| need.wait_on(from, n));
                        gets.prescribes(get.execute(move |n| async move { to.put((n, n % 3, 0), *from.get(n).await) }));
                        thread::scope(|threads| {
                            threads.spawn(|| puts.put_all(0..STEPS));
                            threads.spawn(|| gets.put_all((0..STEPS).rev()));
                        });
                        g.wait().unwrap();
                        (0..STEPS).map(|n| u64::from(*to.try_get(&(n, n % 3, 0)).unwrap())).sum::<u64>()
                    });
                    assert_eq!(sum.unwrap(), u64::from(STEPS) * u64::from(STEPS - 1) / 2, "{settings:?}");
                }
            }
        }
    });
}
