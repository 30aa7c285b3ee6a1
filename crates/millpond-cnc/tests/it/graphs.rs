//! Whole graphs: several collections, threads outside, the memory of items, and one runtime for
//! many graphs.

use std::thread;

use crate::common::{limited, runtime};
use millpond_cnc::{Blocked, By, Graph, ItemMemory, Kind, Preconditions, Settings, StepName, graph, graph_with};

/// The error of a second put names both steps and both tags, for all collections and types.
#[test]
fn a_second_put_by_another_collection() {
    limited(|| {
        for workers in [1, 2] {
            let rt = runtime(workers);
            let error = graph(&rt, |g| {
                let (items, counted) = (g.items::<u64, u8>("item"), g.counted_items::<u64, u8>("counted", |_| 1));
                let (numbers, words) = (g.tags::<u32>("numbers"), g.tags::<String>("words"));
                numbers.prescribes(g.steps("left").execute(move |_: u32| async move { items.put(5, 0) }));
                words.prescribes(g.steps("right").execute(move |_: String| async move { items.put(5, 1) }));
                numbers.put(3);
                words.put("three".to_owned());
                g.wait().unwrap_err();
                counted.put(1, 1);
            });
            let error = error.unwrap_err();
            let Kind::SecondPut { first, second, .. } = error.kind() else { panic!("{error}") };
            let by = |step: &str, tag: &str| By::Step(StepName { step: step.to_owned(), tag: tag.to_owned() });
            let (left, right) = (by("left", "3"), by("right", "\"three\""));
            assert!([(first, second), (second, first)].contains(&(&left, &right)), "{error}");
        }
        // The same holds for a counted item, even if it was used up in between.
        let error = graph(&runtime(1), |g| {
            let (tiles, tags) = (g.counted_items::<u32, u32>("tile", |_| 1), g.tags("tags"));
            tags.prescribes(g.steps::<(i32, i32)>("use").execute(move |_| async move { drop(tiles.get(1).await) }));
            tiles.put(1, 1);
            tags.put((-1, 1));
            g.wait().unwrap();
            tiles.put(1, 2);
        });
        let text = "item `tile` 1 was put twice: by the environment, and by the environment";
        assert_eq!(error.unwrap_err().to_string(), text);
    });
}

/// A tag that is put twice prescribes two steps. Their puts show that they are the same step.
#[test]
fn a_tag_put_twice() {
    limited(|| {
        let error = graph(&runtime(2), |g| {
            let (items, tags) = (g.items::<u32, u32>("item"), g.tags("tags"));
            tags.prescribes(g.steps::<u32>("put").execute(move |n| async move { items.put(n, n) }));
            tags.put_all([1, 2, 1]);
        });
        let text = "item `item` 1 was put twice: by step `put` 1, and by step `put` 1";
        assert_eq!(error.unwrap_err().to_string(), text);
    });
}

/// Steps of several collections wait for items of several. The report names each step with what it
/// waits for.
#[test]
fn a_deadlock_of_several_collections() {
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for blocked in [Blocked::Resume, Blocked::Fiber, Blocked::Replay] {
                let settings = Settings { blocked, ..Settings::default() };
                let error = graph_with(&rt, settings, |g| {
                    let (left, right) = (g.items::<u32, ()>("left"), g.counted_items::<(u32, u32), ()>("right", |_| 9));
                    let dense = g.dense_items::<u32, ()>("dense", 10);
                    let (tags, others) = (g.tags::<u32>("tags"), g.tags::<String>("others"));
                    let both = g.steps::<u32>("both").produces(left).produces(dense).preconditions(move |&n, need| {
                        need.wait_on(left, n);
                        need.wait_on(right, (n, n));
                    });
                    tags.prescribes(both.execute(move |n| async move { dense.put(n, ()) }));
                    tags.prescribes(g.steps("late").execute(move |n| async move {
                        left.get(n + 1).await;
                        right.get((n, 0)).await;
                    }));
                    let other = g.steps::<String>("other").produces(left);
                    others.prescribes(other.execute(move |_| async move { _ = dense.get(7).await }));
                    left.put(2, ());
                    tags.put(1);
                    others.put("word".to_owned());
                });
                let text = "deadlock: 3 steps wait for items that no step puts; \
                            step `both` 1, prescribed, waits for `left` 1 (put by both, other), `right` (1, 1); \
                            step `late` 1, blocked, waits for `right` (1, 0); \
                            step `other` \"word\", blocked, waits for `dense` 7 (put by both)";
                assert_eq!(error.unwrap_err().to_string(), text, "{settings:?}, {workers} workers");
            }
        }
    });
}

/// A tile goes from step to step, and stays in the same memory. There are as many tiles as chains.
#[test]
fn tiles_are_updated_in_place() {
    const ROUNDS: u32 = 50;
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for preconditions in [Preconditions::Eager, Preconditions::Strict, Preconditions::Flexible] {
                let settings = Settings { preconditions, ..Settings::default() };
                let run = graph_with(&rt, settings, |g| {
                    let tiles = g.counted_items::<(u32, u32), Vec<u32>>("tile", |_| 1);
                    let tags = g.tags("tags");
                    let step =
                        g.steps::<(u32, u32)>("update").preconditions(move |&key, need| need.wait_on(tiles, key));
                    tags.prescribes(step.execute(move |(tile, round)| async move {
                        let mut own = tiles.get((tile, round)).await.take().expect("its only use");
                        own.iter_mut().for_each(|value| *value += round);
                        tiles.put((tile, round + 1), own);
                    }));
                    (0..ROUNDS).rev().for_each(|round| tags.put_all((0..4).map(|tile| (tile, round))));
                    let given = [0, 1, 2, 3].map(|tile| {
                        let (values, key) = (vec![tile; 1000], (tile, 0));
                        let at = values.as_ptr().addr();
                        tiles.put(key, values);
                        at
                    });
                    g.wait().unwrap();
                    let bytes = 4 * size_of::<Vec<u32>>();
                    let put = 4 * (ROUNDS as usize + 1);
                    assert_eq!(g.memory(), [ItemMemory { collection: "tile", put, there: 4, bytes }]);
                    let got = [0, 1, 2, 3].map(|tile| {
                        let last = g.get(tiles, (tile, ROUNDS)).unwrap();
                        assert_eq!(last[999], tile + ROUNDS * (ROUNDS - 1) / 2);
                        last.as_ptr().addr()
                    });
                    assert_eq!(given, got);
                    assert_eq!(g.memory()[0].there, 0);
                });
                run.unwrap();
            }
        }
    });
}

/// The memory of each collection, in the order in which the collections were made.
#[test]
fn memory_of_items() {
    limited(|| {
        let run = graph(&runtime(1), |g| {
            let (some, dense) = (g.items::<String, [u64; 4]>("some"), g.dense_items::<u32, u8>("dense", 100));
            let counted = g.counted_items::<u32, u64>("counted", |&uses| uses);
            let memory = |collection, put, there, bytes| ItemMemory { collection, put, there, bytes };
            let empty = [memory("some", 0, 0, 0), memory("dense", 0, 0, 0), memory("counted", 0, 0, 0)];
            assert_eq!(g.memory(), empty);
            // A `try_get` makes a slot, and no item.
            assert_eq!(some.try_get(&"a".to_owned()), None);
            ["b", "c"].into_iter().for_each(|key| some.put(key.to_owned(), [0; 4]));
            (0..7).for_each(|key| dense.put(key, 0));
            (0..3).for_each(|key| counted.put(key, 0));
            let memory = [memory("some", 2, 2, 64), memory("dense", 7, 7, 7), memory("counted", 3, 2, 16)];
            assert_eq!(g.memory(), memory);
        });
        run.unwrap();
    });
}

/// Threads outside put items and tags. The environment waits for what the steps make of them.
#[test]
fn threads_outside_put_items_and_tags() {
    const EACH: u64 = 2000;
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for preconditions in [Preconditions::Eager, Preconditions::Strict, Preconditions::Flexible] {
                let settings = Settings { preconditions, ..Settings::default() };
                let sum = graph_with(&rt, settings, |g| {
                    let (given, made) = (g.items::<u64, u64>("given"), g.items::<u64, u64>("made"));
                    let tags = g.tags("tags");
                    let step = g.steps::<u64>("step").preconditions(move |&n, need| need.wait_on(given, n));
                    tags.prescribes(step.execute(move |n| async move { made.put(n, given.get(n).await * 2) }));
                    thread::scope(|threads| {
                        for first in [0, EACH] {
                            threads.spawn(move || (first..first + EACH).for_each(|n| given.put(n, n)));
                            threads.spawn(move || tags.put_all((first..first + EACH).rev()));
                        }
                        // Meanwhile steps may wait while nothing runs. That is no deadlock as long
                        // as no thread says so.
                        while made.try_get(&EACH).is_none() {
                            g.wait().unwrap();
                            thread::yield_now();
                        }
                    });
                    (0..2 * EACH).map(|n| *g.get(made, n).unwrap()).sum::<u64>()
                });
                assert_eq!(sum.unwrap(), 2 * EACH * (2 * EACH - 1), "{settings:?}, {workers} workers");
            }
        }
    });
}

/// One runtime runs graph after graph, whatever the earlier ones did. It also runs graphs on
/// several threads at once.
#[test]
fn one_runtime_for_many_graphs() {
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            let run = |n: u64| {
                graph(&rt, |g| {
                    let (items, tags) = (g.items::<u64, u64>("item"), g.tags("tags"));
                    tags.prescribes(g.steps::<u64>("step").execute(move |key| async move {
                        items.put(key + 1, items.get(key).await + 1);
                    }));
                    tags.put_all(0..20);
                    match n % 4 {
                        0 => items.put(0, n),
                        1 => items.put(7, n),
                        2 => items.put(100, n),
                        _ => (0..2).for_each(|_| items.put(0, n)),
                    }
                    g.get(items, 20).copied()
                })
            };
            let check = |n: u64| match (n % 4, run(n)) {
                (0, Ok(Ok(value))) => assert_eq!(value, n + 20),
                (1, Err(error)) => {
                    let Kind::Deadlock(report) = error.kind() else { panic!("{error}") };
                    assert_eq!((report.stuck.len(), report.environment.len()), (7, 0), "{error}");
                }
                (2, Err(error)) => {
                    let Kind::Deadlock(report) = error.kind() else { panic!("{error}") };
                    assert_eq!((report.stuck.len(), report.environment.len()), (20, 1), "{error}");
                }
                (3, Err(error)) => assert!(matches!(error.kind(), Kind::SecondPut { .. }), "{error}"),
                (_, other) => panic!("{other:?}"),
            };
            (0..100).for_each(check);
            thread::scope(|threads| {
                for first in 0..3 {
                    threads.spawn(move || (first..first + 40).for_each(check));
                }
            });
        }
    });
}

/// A graph within a step of another one, on the same runtime or another. What the inner steps do
/// counts for the inner graph.
#[test]
fn a_graph_within_a_step() {
    limited(|| {
        for workers in [1, 2] {
            let (outer, other) = (runtime(workers), runtime(2));
            for (inner, blocked) in [(&outer, Blocked::Resume), (&outer, Blocked::Fiber), (&other, Blocked::Resume)] {
                let settings = Settings { blocked, ..Settings::default() };
                let sum = graph_with(&outer, settings, |g| {
                    let (items, tags) = (g.items::<u64, u64>("outer"), g.tags("tags"));
                    tags.prescribes(g.steps::<u64>("nests").execute(move |n| async move {
                        let value = graph(inner, |g| square(g, n));
                        items.put(n, value.unwrap());
                    }));
                    tags.put_all(0..10);
                    g.wait().unwrap();
                    (0..10).map(|n| items.try_get(&n).unwrap()).sum::<u64>()
                });
                assert_eq!(sum.unwrap(), 285);
            }
        }
    });
}

fn square(g: &Graph<'_, '_, '_>, n: u64) -> u64 {
    let (items, tags) = (g.items::<u64, u64>("inner"), g.tags("tags"));
    tags.prescribes(g.steps::<u64>("step").execute(move |n| async move { items.put(n, n * n) }));
    tags.put(n);
    // The environment puts this item, though a step of another graph runs here.
    items.put(100, n);
    *g.get(items, n).unwrap()
}
