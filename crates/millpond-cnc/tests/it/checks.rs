//! Gets are compared with what steps declare. An error does not depend on which item is late.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use crate::common::{limited, runtime};
use millpond_cnc::{Blocked, Error, ItemName, Kind, Preconditions, Settings, StepName, graph_with};

fn item(collection: &str, key: &str) -> ItemName {
    ItemName { collection: collection.to_owned(), key: key.to_owned() }
}

fn settings(preconditions: Preconditions, blocked: Blocked, check_gets: bool) -> Settings {
    Settings { preconditions, blocked, check_gets, ..Settings::default() }
}

/// Step `sum` (3, 4) declares the first of two items and gets both, from one kind of collection.
/// Both are there.
fn undeclared(settings: Settings, kind: usize, own: Option<bool>, workers: usize) -> Result<(), Error> {
    graph_with(&runtime(workers), settings, |g| {
        let (items, dense) = (g.items::<u32, u32>("item"), g.dense_items::<u32, u32>("dense", 10));
        let (counted, tags) = (g.counted_items::<u32, u32>("counted", |_| 1), g.tags("sums"));
        for key in [3, 4] {
            items.put(key, key);
            dense.put(key, key);
            counted.put(key, key);
        }
        let step = g.steps::<(u32, u32)>("sum").preconditions(move |&(first, _), need| match kind {
            0 => need.wait_on(items, first),
            1 => need.wait_on(dense, first),
            _ => need.wait_on(counted, first),
        });
        let step = match own {
            Some(check) => step.check_gets(check),
            None => step,
        };
        tags.prescribes(step.execute(move |(first, second)| async move {
            let sum = match kind {
                0 => items.get(first).await + items.get(second).await,
                1 => dense.get(first).await + dense.get(second).await,
                _ => *counted.get(first).await + *counted.get(second).await,
            };
            assert_eq!(sum, 7);
        }));
        tags.put((3, 4));
    })
}

#[test]
fn strict_steps_get_what_they_declare() {
    limited(|| {
        for (kind, collection) in ["item", "dense", "counted"].into_iter().enumerate() {
            for workers in [1, 2] {
                for (check, own) in [(true, None), (false, Some(true)), (true, Some(true))] {
                    let strict = settings(Preconditions::Strict, Blocked::Resume, check);
                    let error = undeclared(strict, kind, own, workers).unwrap_err();
                    let Kind::Undeclared { step, item: which } = error.kind() else { panic!("{error}") };
                    assert_eq!(*step, StepName { step: "sum".to_owned(), tag: "(3, 4)".to_owned() });
                    assert_eq!(*which, item(collection, "4"));
                    let text = format!(
                        "step `sum` (3, 4) got item `{collection}` 4, which it has not declared: \
                         under strict preconditions a step declares all that it gets"
                    );
                    assert_eq!(error.to_string(), text);
                }
                for (check, own) in [(false, None), (true, Some(false))] {
                    undeclared(settings(Preconditions::Strict, Blocked::Resume, check), kind, own, workers).unwrap();
                }
                // In other modes, steps may get items that they do not declare.
                for preconditions in [Preconditions::Eager, Preconditions::Flexible] {
                    for blocked in [Blocked::Resume, Blocked::Fiber, Blocked::Replay] {
                        undeclared(settings(preconditions, blocked, true), kind, None, workers).unwrap();
                    }
                }
            }
        }
    });
}

/// Debug builds check. Optimized builds do not.
#[test]
fn by_default_debug_builds_check() {
    assert_eq!(Settings::default().check_gets, cfg!(debug_assertions));
}

/// A body that asks for an item without waiting for it cannot hide a later undeclared get.
#[test]
fn undeclared_gets_that_are_given_up() {
    limited(|| {
        for there in [false, true] {
            let error = graph_with(&runtime(2), settings(Preconditions::Strict, Blocked::Resume, true), |g| {
                let (items, tags) = (g.items::<u32, u32>("item"), g.tags("tags"));
                tags.prescribes(g.steps::<u32>("ask").execute(move |n| async move {
                    let mut get = pin!(items.get(n));
                    poll_fn(|context| {
                        _ = get.as_mut().poll(context);
                        Poll::Ready(())
                    })
                    .await;
                }));
                if there {
                    items.put(3, 3);
                }
                tags.put(3);
            });
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), Kind::Undeclared { item: which, .. } if *which == item("item", "3")));
        }
    });
}

/// A replayed step puts something, and then gets an item that is there. The item could have been
/// late.
fn after_a_put(check: bool, preconditions: Preconditions, body: u32) -> Result<(), Error> {
    graph_with(&runtime(2), settings(preconditions, Blocked::Replay, check), |g| {
        let (items, tags) = (g.items::<u32, u32>("item"), g.tags("tags"));
        let step = g.steps::<u32>("step").preconditions(move |&n, need| need.wait_on(items, n));
        tags.prescribes(step.execute(move |n| async move {
            match body {
                // It waited for that item, if preconditions are not eager.
                0 => {
                    items.put(n + 10, 0);
                    items.get(n).await;
                }
                // It was not late when the step got it before.
                1 => {
                    items.get(n + 1).await;
                    items.put(n + 10, 0);
                    items.get(n + 1).await;
                }
                _ => {
                    items.put(n + 10, 0);
                    items.get(n + 1).await;
                }
            }
        }));
        (3..6).for_each(|key| items.put(key, key));
        tags.put(3);
    })
}

#[test]
fn replayed_steps_get_before_they_put() {
    limited(|| {
        for preconditions in [Preconditions::Eager, Preconditions::Flexible] {
            for body in 0..3 {
                after_a_put(false, preconditions, body).unwrap();
                let checked = after_a_put(true, preconditions, body);
                match (body, preconditions) {
                    (0, Preconditions::Flexible) | (1, _) => checked.unwrap(),
                    _ => {
                        let error = checked.unwrap_err();
                        let Kind::PutBeforeGet { item: which, done, .. } = error.kind() else { panic!("{error}") };
                        let late = if body == 0 { "3" } else { "4" };
                        assert_eq!((which, done.as_str()), (&item("item", late), "put item `item` 13"));
                    }
                }
            }
        }
    });
}

/// Preconditions that panic when they are asked for again.
#[test]
fn preconditions_that_panic_the_second_time() {
    use std::sync::atomic::{AtomicU32, Ordering};
    limited(|| {
        let (asked, ran) = (AtomicU32::new(0), AtomicU32::new(0));
        let error = graph_with(&runtime(1), settings(Preconditions::Strict, Blocked::Resume, true), |g| {
            let (tags, asked, ran) = (g.tags::<u32>("tags"), &asked, &ran);
            let step = g.steps::<u32>("step").preconditions(move |_, _| {
                assert!(asked.fetch_add(1, Ordering::Relaxed) == 0, "once");
            });
            tags.prescribes(step.execute(move |_| async move { _ = ran.fetch_add(1, Ordering::Relaxed) }));
            tags.put(1);
        });
        assert_eq!(error.unwrap_err().to_string(), "step `step` 1 panicked: once");
        assert_eq!((asked.into_inner(), ran.into_inner()), (2, 0));
    });
}
