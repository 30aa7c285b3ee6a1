//! The behaviour and the errors of a graph, in every mode and for any number of workers.

use crate::common::{limited, runtime};
use millpond::Spawn;
use millpond_cnc::{Blocked, By, Graph, ItemName, Kind, Limit, Preconditions, Settings, StepName, graph, graph_with};

/// Every kind of preconditions with every way to wait.
fn settings() -> impl Iterator<Item = Settings> {
    let preconditions = [Preconditions::Eager, Preconditions::Strict, Preconditions::Flexible];
    let blocked = [Blocked::Resume, Blocked::Fiber, Blocked::Replay];
    let limits = [Limit::All, Limit::First(1)];
    preconditions.into_iter().flat_map(move |preconditions| {
        blocked.into_iter().flat_map(move |blocked| {
            limits.into_iter().map(move |limit| Settings { preconditions, blocked, limit, ..Settings::default() })
        })
    })
}

fn name(step: &str, tag: &str) -> StepName {
    StepName { step: step.to_owned(), tag: tag.to_owned() }
}

fn item(collection: &str, key: &str) -> ItemName {
    ItemName { collection: collection.to_owned(), key: key.to_owned() }
}

fn triangle(g: &Graph<'_, '_, '_>, rows: u32, dense: bool) -> u64 {
    let cells = if dense { g.dense_items("cell", (rows + 1, rows + 2)) } else { g.items("cell") };
    let tags = g.tags("cells");
    let add = g.steps::<(u32, u32)>("add").produces(cells).preconditions(move |&(row, at), need| {
        need.wait_on(cells, (row - 1, at - 1));
        need.wait_on(cells, (row - 1, at));
    });
    tags.prescribes(add.execute(move |(row, at): (u32, u32)| async move {
        let sum: u64 = cells.get((row - 1, at - 1)).await + cells.get((row - 1, at)).await;
        cells.put((row, at), sum);
    }));
    for row in (0..=rows).rev() {
        tags.put_all((1..=row).map(|at| (row, at)));
        cells.put((row, 0), 1);
        cells.put((row, row + 1), 0);
    }
    *g.get(cells, (rows, rows / 2)).unwrap()
}

#[test]
fn every_mode_gives_the_result() {
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for settings in settings() {
                for dense in [false, true] {
                    let middle = graph_with(&rt, settings, |g| triangle(g, 40, dense));
                    assert_eq!(middle.unwrap(), 137_846_528_820, "{settings:?}, {workers} workers");
                }
            }
        }
    });
}

#[test]
fn steps_prescribe_steps() {
    limited(|| {
        for workers in [1, 2] {
            let rt = runtime(workers);
            for settings in settings() {
                let factor = 3;
                let value = graph_with(&rt, settings, |g| {
                    let (items, tags) = (g.items::<u32, u64>("power"), g.tags("next"));
                    let factor = &factor;
                    let step = g.steps::<u32>("multiply").preconditions(move |&n, need| need.wait_on(items, n - 1));
                    tags.prescribes(step.execute(move |n| async move {
                        let value = items.get(n - 1).await * factor;
                        items.put(n, value);
                        if n < 30 {
                            tags.put(n + 1);
                        }
                        Ok::<(), std::convert::Infallible>(())
                    }));
                    tags.put(1);
                    items.put(0, 1);
                    g.wait().unwrap();
                    items.try_get(&30).copied()
                });
                assert_eq!(value.unwrap(), Some(3_u64.pow(30)), "{settings:?}");
            }
        }
    });
}

#[test]
fn a_second_put_names_both() {
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            let error = graph(&rt, |g| {
                let (items, tags) = (g.items::<u32, ()>("slot"), g.tags("puts"));
                tags.prescribes(g.steps::<(u32, u32)>("put").execute(move |(_, to)| async move { items.put(to, ()) }));
                tags.put((1, 7));
                tags.put((2, 7));
            })
            .unwrap_err();
            let Kind::SecondPut { item: at, first, second } = error.kind() else { panic!("{error}") };
            assert_eq!(*at, item("slot", "7"));
            let mut by = [first, second].map(|by| match by {
                By::Step(step) => step.clone(),
                By::Environment => panic!("{error}"),
            });
            by.sort();
            assert_eq!(by, [name("put", "(1, 7)"), name("put", "(2, 7)")]);
        }
        let error = graph(&runtime(1), |g| {
            let items = g.items::<String, u8>("text");
            items.put("a".to_owned(), 1);
            items.put("a".to_owned(), 2);
        });
        let text = "item `text` \"a\" was put twice: by the environment, and by the environment";
        assert_eq!(error.unwrap_err().to_string(), text);
    });
}

#[test]
fn strict_steps_declare_what_they_get() {
    limited(|| {
        let strict = Settings { preconditions: Preconditions::Strict, ..Settings::default() };
        let error = graph_with(&runtime(2), strict, |g| {
            let (items, tags) = (g.items::<u32, u32>("value"), g.tags("sums"));
            let step = g.steps::<u32>("sum").preconditions(move |&n, need| need.wait_on(items, n));
            tags.prescribes(step.execute(move |n| async move { assert!(items.get(n).await < items.get(n + 1).await) }));
            items.put(3, 3);
            tags.put(3);
        });
        let error = error.unwrap_err();
        let Kind::Undeclared { step, item: missing } = error.kind() else { panic!("{error:?}") };
        assert_eq!((step, missing), (&name("sum", "3"), &item("value", "4")));
    });
}

#[test]
fn replayed_steps_get_before_they_put() {
    limited(|| {
        let replay = Settings { preconditions: Preconditions::Eager, blocked: Blocked::Replay, ..Settings::default() };
        let error = graph_with(&runtime(2), replay, |g| {
            let (items, tags) = (g.items::<u32, u32>("value"), g.tags("steps"));
            tags.prescribes(g.steps::<u32>("early").execute(move |n| async move {
                items.put(n + 1, 0);
                items.get(n).await;
            }));
            tags.put(3);
        });
        let error = error.unwrap_err();
        let Kind::PutBeforeGet { step, item: missing, done } = error.kind() else { panic!("{error:?}") };
        assert_eq!((step, missing, done.as_str()), (&name("early", "3"), &item("value", "3"), "put item `value` 4"));
    });
}

#[test]
fn a_deadlock_is_reported() {
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for settings in settings() {
                let error = graph_with(&rt, settings, |g| {
                    let (items, tags) = (g.items::<u32, u32>("value"), g.tags("steps"));
                    let step = g.steps::<u32>("add").produces(items).preconditions(move |&n, need| {
                        need.wait_on(items, n);
                        need.wait_on(items, n + 1);
                    });
                    tags.prescribes(step.execute(move |n| async move {
                        let sum = items.get(n).await + items.get(n + 1).await;
                        items.put(n + 2, sum);
                    }));
                    // Step 0 has what it needs. Step 2 has one of two items, and steps 9 and 20
                    // have none.
                    [0, 1, 3].into_iter().for_each(|n| items.put(n, n));
                    tags.put_all([20, 9, 0, 2, 5]);
                });
                let error = error.unwrap_err();
                let Kind::Deadlock(report) = error.kind() else { panic!("{error:?}") };
                let stuck: Vec<_> =
                    report.stuck.iter().map(|stuck| (stuck.step.tag.as_str(), &stuck.missing)).collect();
                let tags: Vec<_> = stuck.iter().map(|(tag, _)| *tag).collect();
                assert_eq!(tags, ["20", "5", "9"], "{settings:?}");
                for (tag, missing) in stuck {
                    let first = &missing[0];
                    assert_eq!((first.item.key.as_str(), first.producers.as_slice()), (tag, &["add".to_owned()][..]));
                }
                assert!(report.environment.is_empty());
            }
        }
    });
}

#[test]
fn the_environment_waits_for_what_never_comes() {
    limited(|| {
        for workers in [1, 2] {
            let error = graph(&runtime(workers), |g| {
                let (items, tags) = (g.items::<u32, u32>("value"), g.tags("steps"));
                tags.prescribes(g.steps::<u32>("never").execute(move |n| async move { _ = items.get(n).await }));
                tags.put(4);
                assert!(matches!(g.get(items, 5).unwrap_err().kind(), Kind::Deadlock(_)));
            });
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), Kind::Deadlock(_)));
            let text = "deadlock: 1 step waits for items that no step puts; the environment waits for `value` 5; \
                    step `never` 4, blocked, waits for `value` 4";
            assert_eq!(error.to_string(), text);
        }
    });
}

#[test]
fn panics_and_errors_name_the_step() {
    limited(|| {
        for workers in [1, 2] {
            let rt = runtime(workers);
            for settings in settings() {
                let run = |message: Option<&str>| {
                    graph_with(&rt, settings, |g| {
                        let (items, tags) = (g.items::<u32, u32>("value"), g.tags("steps"));
                        let step =
                            g.steps::<(u32, u32)>("fail").preconditions(move |key, need| need.wait_on(items, key.0));
                        let message = &message;
                        tags.prescribes(step.execute(move |key| async move {
                            items.get(key.0).await;
                            match message {
                                Some(text) => Err((*text).to_owned()),
                                None => panic!("at {key:?}"),
                            }
                        }));
                        tags.put((1, 2));
                        items.put(1, 0);
                        g.wait().unwrap_err()
                    })
                };
                let text = run(Some("no luck")).unwrap_err().to_string();
                assert_eq!(text, "step `fail` (1, 2) failed: no luck");
                assert_eq!(run(None).unwrap_err().to_string(), "step `fail` (1, 2) panicked: at (1, 2)");
            }
        }
    });
}

/// A step may wait for something other than an item. The graph waits for that too.
#[test]
fn steps_wait_for_the_world_outside() {
    limited(|| {
        for workers in [1, 2] {
            let rt = runtime(workers);
            for blocked in [Blocked::Resume, Blocked::Fiber] {
                let (world, settings) = (runtime(1), Settings { blocked, ..Settings::default() });
                let session = std::sync::Mutex::new(world.session());
                let sum = graph_with(&rt, settings, |g| {
                    let (items, tags) = (g.items::<u32, u32>("value"), g.tags("steps"));
                    let session = &session;
                    tags.prescribes(g.steps::<u32>("ask").execute(move |n| async move {
                        let answer = session.lock().unwrap().spawn((), move |()| {
                            std::thread::sleep(std::time::Duration::from_millis(2));
                            n * n
                        });
                        items.put(n, answer.await.unwrap());
                    }));
                    tags.put_all(0..10);
                    g.wait().unwrap();
                    (0..10).map(|n| items.try_get(&n).unwrap()).sum::<u32>()
                });
                assert_eq!(sum.unwrap(), 285);
            }
        }
    });
}

/// Steps get a counted item as often as its collection says. After its last use, the item is freed;
/// that use may take it. This holds for replayed steps too: a dropped step gives back the items
/// that it had.
#[test]
fn counted_items() {
    limited(|| {
        for workers in [1, 2, 8] {
            let rt = runtime(workers);
            for settings in settings() {
                let run = graph_with(&rt, settings, |g| {
                    let tiles =
                        g.counted_items::<(u32, u32), Vec<u32>>("tile", |&(_, round)| if round < 10 { 2 } else { 1 });
                    let late = g.items::<u32, u32>("late");
                    let (looks, updates) = (g.tags("looks"), g.tags("updates"));
                    let look = g.steps::<(u32, u32)>("look").preconditions(move |&key, need| {
                        need.wait_on(tiles, key);
                        need.wait_on(late, key.1);
                    });
                    looks.prescribes(look.execute(move |key| async move {
                        let (tile, late) = (tiles.get(key).await, late.get(key.1).await);
                        assert_eq!((tile[0], *late), (key.1, key.1));
                    }));
                    let update =
                        g.steps::<(u32, u32)>("update").preconditions(move |&key, need| need.wait_on(tiles, key));
                    updates.prescribes(update.execute(move |(tile, round)| async move {
                        let one = tiles.get((tile, round)).await;
                        let mut own = one.take().unwrap_or_else(|one| one.clone());
                        own[0] += 1;
                        tiles.put((tile, round + 1), own);
                    }));
                    for round in 0..10 {
                        looks.put_all((0..4).map(|tile| (tile, round)));
                        updates.put_all((0..4).map(|tile| (tile, round)));
                    }
                    (0..4).for_each(|tile| tiles.put((tile, 0), vec![0]));
                    (0..10).for_each(|round| late.put(round, round));
                    g.wait().unwrap();
                    let memory = g.memory();
                    assert_eq!((memory[0].put, memory[0].there), (44, 4));
                    assert_eq!((memory[1].put, memory[1].there), (10, 10));
                    (0..4).map(|tile| g.get(tiles, (tile, 10)).unwrap()[0]).sum::<u32>()
                });
                assert_eq!(run.unwrap(), 40, "{settings:?}, {workers} workers");
            }
        }
    });
}

#[test]
fn used_more_often_than_counted() {
    limited(|| {
        for settings in settings() {
            let error = graph_with(&runtime(2), settings, |g| {
                let (once, tags) = (g.counted_items::<u32, u32>("once", |_| 1), g.tags("steps"));
                let step = g.steps::<u32>("use").preconditions(move |_, need| need.wait_on(once, 7));
                tags.prescribes(step.execute(move |_| async move { drop(once.get(7).await) }));
                tags.put_all([1, 2]);
                once.put(7, 0);
            });
            let error = error.unwrap_err();
            let Kind::UsedUp { item: which, uses, by: By::Step(_) } = error.kind() else {
                panic!("{error:?}, {settings:?}")
            };
            assert_eq!((which, *uses), (&item("once", "7"), 1));
        }
    });
}

#[test]
fn keys_beyond_their_bounds() {
    limited(|| {
        let error = graph(&runtime(1), |g| {
            let (items, tags) = (g.dense_items::<(u32, u32), u32>("tile", (2, 3)), g.tags("steps"));
            tags.prescribes(g.steps::<u32>("put").execute(move |n| async move { items.put((n, 3), 0) }));
            tags.put(1);
        });
        let text = "item `tile` (1, 3) lies outside of the bounds (2, 3); asked for by step `put` 1";
        assert_eq!(error.unwrap_err().to_string(), text);
    });
}

/// The result of `try_get` depends on the order of steps, so a step may not call it. A step of an
/// inner graph may not call it, either.
#[test]
fn steps_do_not_look() {
    limited(|| {
        for workers in [1, 2] {
            let rt = runtime(workers);
            for (settings, nested) in settings().flat_map(|settings| [(settings, false), (settings, true)]) {
                let error = graph_with(&rt, settings, |g| {
                    let (items, tags) = (g.items::<u32, u32>("value"), g.tags::<(u32, u32)>("tags"));
                    let look = move |(_, n)| async move { assert_eq!(items.try_get(&n), None) };
                    items.put(3, 3);
                    // The environment may call it.
                    assert_eq!(items.try_get(&3), Some(&3));
                    if nested {
                        let inner = graph_with(&rt, settings, |g| {
                            let tags = g.tags::<(u32, u32)>("tags");
                            tags.prescribes(g.steps::<(u32, u32)>("look").execute(look));
                            tags.put((7, 3));
                        });
                        inner.unwrap();
                    } else {
                        tags.prescribes(g.steps::<(u32, u32)>("look").execute(look));
                        tags.put((7, 3));
                    }
                });
                let error = error.unwrap_err();
                let Kind::LookedInStep { step, item: which } = error.kind() else { panic!("{error}, {settings:?}") };
                assert_eq!((step, which), (&name("look", "(7, 3)"), &item("value", "3")));
            }
        }
    });
}
