//! Failures in user code: closures and keys that panic, and values that must be dropped in every
//! case.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{limited, runtime};
use millpond_cnc::{
    Blocked, Bounds, By, Error, Graph, Kind, Preconditions, Settings, StepName, Table, graph, graph_with,
};

/// All ways to wait, before a step starts and within it.
fn settings() -> impl Iterator<Item = Settings> {
    let preconditions = [Preconditions::Eager, Preconditions::Strict, Preconditions::Flexible];
    let blocked = [Blocked::Resume, Blocked::Fiber, Blocked::Replay];
    preconditions.into_iter().flat_map(move |preconditions| {
        blocked.into_iter().map(move |blocked| Settings { preconditions, blocked, ..Settings::default() })
    })
}

/// Runs a graph in every mode, with one worker and with more.
fn in_every_mode(run: impl Fn(Settings, &millpond::Runtime)) {
    for workers in [1, 2, 8] {
        let rt = runtime(workers);
        settings().for_each(|settings| run(settings, &rt));
    }
}

fn panicked(error: &Error) -> (&StepName, &str) {
    let Kind::Panicked { step, message } = error.kind() else { panic!("{error:?}") };
    (step, message)
}

fn name(step: &str, tag: &str) -> StepName {
    StepName { step: step.to_owned(), tag: tag.to_owned() }
}

/// The closure of a body may panic before there is a future.
#[test]
fn bodies_panic_before_their_future() {
    limited(|| {
        in_every_mode(|settings, rt| {
            let error = graph_with(rt, settings, |g| {
                let tags = g.tags("tags");
                let body = |n: u32| {
                    assert!(n != 3, "at {n}");
                    async {}
                };
                tags.prescribes(g.steps::<u32>("early").execute(body));
                tags.put_all(0..6);
            });
            assert_eq!(panicked(&error.unwrap_err()), (&name("early", "3"), "at 3"), "{settings:?}");
        });
    });
}

/// A put in the closure of a body, before there is a future, belongs to that step, too.
#[test]
fn bodies_put_before_their_future() {
    limited(|| {
        in_every_mode(|settings, rt| {
            let error = graph_with(rt, settings, |g| {
                let (items, tags) = (g.items::<u32, ()>("item"), g.tags("tags"));
                tags.prescribes(g.steps::<u32>("put").execute(move |n| {
                    items.put(7, ());
                    async move { assert!(n > 0) }
                }));
                tags.put_all([1, 2]);
            });
            let error = error.unwrap_err().to_string();
            let either = ["step `put` 1, and by step `put` 2", "step `put` 2, and by step `put` 1"]
                .map(|by| format!("item `item` 7 was put twice: by {by}"));
            assert!(either.contains(&error), "{error}, {settings:?}");
        });
    });
}

/// A step whose preconditions panic does not start. The error names it, whichever step put its tag.
#[test]
fn preconditions_panic() {
    limited(|| {
        in_every_mode(|settings, rt| {
            if settings.preconditions == Preconditions::Eager {
                return;
            }
            for by_a_step in [false, true] {
                let began = AtomicUsize::new(0);
                let error = graph_with(rt, settings, |g| {
                    let (items, tags, first) = (g.items::<u32, ()>("item"), g.tags("tags"), g.tags("first"));
                    let began = &began;
                    let step = g.steps::<u32>("odd").preconditions(move |&n, need| {
                        need.wait_on(items, n);
                        assert!(n % 2 == 1, "{n} is even");
                    });
                    tags.prescribes(step.execute(move |n| async move {
                        began.fetch_add(1, Ordering::Relaxed);
                        items.get(n).await;
                    }));
                    first.prescribes(g.steps::<u32>("first").execute(move |n| async move { tags.put(n) }));
                    items.put(4, ());
                    if by_a_step { first.put(4) } else { tags.put(4) }
                });
                assert_eq!(panicked(&error.unwrap_err()), (&name("odd", "4"), "4 is even"), "{settings:?}");
                assert_eq!(began.into_inner(), 0, "{settings:?}");
            }
        });
    });
}

/// The methods of a key that panic.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Hash,
    Eq,
    Debug,
    Nothing,
}

/// A key with a method that panics.
#[derive(Clone)]
struct Bad(u32, What);

impl Hash for Bad {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(self.1 != What::Hash, "no hash");
        self.0.hash(state);
    }
}

impl PartialEq for Bad {
    fn eq(&self, other: &Self) -> bool {
        assert!(self.1 != What::Eq && other.1 != What::Eq, "no equality");
        self.0 == other.0
    }
}
impl Eq for Bad {}

impl Debug for Bad {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        assert!(self.1 != What::Debug, "no text");
        self.0.fmt(f)
    }
}

/// If a key panics in a step, the step panics. The collection continues to work.
#[test]
fn keys_panic_in_steps() {
    limited(|| {
        for (table, what) in [Table::Open, Table::Sharded, Table::SplitOrdered]
            .into_iter()
            .flat_map(|table| [(table, What::Hash, "no hash"), (table, What::Eq, "no equality")])
            .map(|(table, what, text)| (table, (what, text)))
        {
            in_every_mode(|settings, rt| {
                let settings = Settings { table, ..settings };
                let error = graph_with(rt, settings, |g| {
                    let (items, tags) = (g.items::<Bad, u32>("item"), g.tags("tags"));
                    tags.prescribes(g.steps::<u32>("step").execute(move |n| async move {
                        items.put(Bad(n, what.0), 0);
                    }));
                    items.put(Bad(1, What::Nothing), 1);
                    tags.put(1);
                    g.wait().unwrap_err();
                    items.put(Bad(2, What::Nothing), 2);
                    assert_eq!(items.try_get(&Bad(1, What::Nothing)), Some(&1));
                    assert_eq!(items.try_get(&Bad(2, What::Nothing)), Some(&2));
                });
                assert_eq!(panicked(&error.unwrap_err()), (&name("step", "1"), what.1), "{settings:?}");
            });
        }
    });
}

/// If a report cannot be written, the graph does not hang, and it still fails.
#[test]
fn keys_without_a_text() {
    limited(|| {
        in_every_mode(|settings, rt| {
            let stuck = graph_with(rt, settings, |g| {
                let (items, tags) = (g.items::<Bad, ()>("item"), g.tags("tags"));
                let step =
                    g.steps::<u32>("step").preconditions(move |&n, need| need.wait_on(items, Bad(n, What::Debug)));
                tags.prescribes(step.execute(move |n| async move { _ = items.get(Bad(n, What::Debug)).await }));
                tags.put_all([1, 2]);
            });
            assert_eq!(stuck.unwrap_err().to_string(), "task `step` panicked: no text", "{settings:?}");
            let tag = graph_with(rt, settings, |g| {
                let (items, tags) = (g.items::<u32, ()>("item"), g.tags("tags"));
                let step = g.steps::<Bad>("step").preconditions(move |n, need| need.wait_on(items, n.0));
                tags.prescribes(step.execute(move |n| async move { _ = items.get(n.0).await }));
                tags.put(Bad(1, What::Debug));
            });
            assert_eq!(tag.unwrap_err().to_string(), "task `step` panicked: no text", "{settings:?}");
        });
    });
}

/// If the text of an error panics, the step panics.
#[test]
fn errors_without_a_text() {
    struct Silent;
    impl fmt::Display for Silent {
        fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
            panic!("no text")
        }
    }
    limited(|| {
        in_every_mode(|settings, rt| {
            let error = graph_with(rt, settings, |g| {
                let tags = g.tags("tags");
                tags.prescribes(g.steps::<u32>("fail").execute(|_| async { Err(Silent) }));
                tags.put(1);
            });
            assert_eq!(panicked(&error.unwrap_err()), (&name("fail", "1"), "no text"), "{settings:?}");
        });
    });
}

/// The environment panics while steps run and wait. They end, and the panic continues.
#[test]
fn the_environment_panics() {
    limited(|| {
        in_every_mode(|settings, rt| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let run = AssertUnwindSafe(|| {
                graph_with(rt, settings, |g| {
                    let items = with_values(g, &dropped);
                    let tags = g.tags("tags");
                    let step = g.steps::<u32>("step").preconditions(move |&n, need| need.wait_on(items, n));
                    tags.prescribes(step.execute(move |n| async move { _ = items.get(n).await }));
                    tags.put_all(0..20);
                    panic!("enough");
                })
            });
            let payload = catch_unwind(run).map(|result: Result<(), _>| result).unwrap_err();
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"enough"));
            assert_eq!(dropped.load(Ordering::Relaxed), 10, "{settings:?}");
        });
    });
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ten items.
fn with_values<'x>(g: &Graph<'_, 'x, '_>, dropped: &Arc<AtomicUsize>) -> millpond_cnc::Items<'x, u32, Counted> {
    let items = g.items("item");
    (0..10).for_each(|key| items.put(key, Counted(dropped.clone())));
    items
}

/// Values are dropped once when the graph ends, also after a deadlock. Counted values are dropped
/// after their last use.
#[test]
fn values_are_dropped_once() {
    limited(|| {
        for table in [Table::Open, Table::Sharded, Table::SplitOrdered] {
            in_every_mode(|settings, rt| {
                let settings = Settings { table, ..settings };
                let (dropped, freed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let error = graph_with(rt, settings, |g| {
                    let items = with_values(g, &dropped);
                    let counted = g.counted_items::<u32, Counted>("counted", |&key| key);
                    let dense = g.dense_items::<u32, Counted>("dense", 4);
                    let tags = g.tags("tags");
                    let step = g.steps::<u32>("step").preconditions(move |&n, need| {
                        need.wait_on(items, n);
                        need.wait_on(counted, n % 3);
                    });
                    tags.prescribes(step.execute(move |n| async move {
                        items.get(n).await;
                        drop(counted.get(n % 3).await);
                    }));
                    dense.put(2, Counted(dropped.clone()));
                    (0..4).for_each(|key| counted.put(key, Counted(freed.clone())));
                    // Item 0 has no use, and is freed when it is put. Items 1 and 2 are used up.
                    // Item 3 is not, and item 10 is missing.
                    assert_eq!(freed.load(Ordering::Relaxed), 1);
                    tags.put_all([1, 2, 5, 10]);
                    g.wait().unwrap();
                    assert_eq!((freed.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed)), (3, 0));
                });
                assert!(matches!(error.unwrap_err().kind(), Kind::Deadlock(_)), "{settings:?}");
                assert_eq!((freed.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed)), (4, 11), "{settings:?}");
            });
        }
    });
}

/// Bounds that are too large for memory, or empty.
#[test]
fn dense_bounds() {
    limited(|| {
        let refused = |make: &dyn Fn(&Graph<'_, '_, '_>)| {
            let payload = catch_unwind(AssertUnwindSafe(|| graph(&runtime(1), |g| make(g)))).unwrap_err();
            payload.downcast_ref::<String>().expect("a text").clone()
        };
        let text = refused(&|g| _ = g.dense_items::<_, u64>("item", (usize::MAX, 2_usize)));
        assert_eq!(text, "there are too many keys below (18446744073709551615, 2)");
        let text = refused(&|g| _ = g.dense_items::<_, u64>("item", u64::MAX));
        assert_eq!(text, "there is no memory for 18446744073709551615 items, the keys below 18446744073709551615");
        let text = refused(&|g| _ = g.dense_items::<_, u64>("item", 1_u64 << 50));
        assert_eq!(text, "there is no memory for 1125899906842624 items, the keys below 1125899906842624");
        let error = graph(&runtime(1), |g| {
            let nothing = [g.dense_items::<i64, ()>("nothing", -1), g.dense_items("nothing", 0)];
            nothing[0].put(0, ());
            assert_eq!(nothing[1].try_get(&0), None);
            assert_eq!(g.memory()[1].put, 0);
        });
        let text = "item `nothing` 0 lies outside of the bounds -1; asked for by the environment";
        assert_eq!(error.unwrap_err().to_string(), text);
    });
}

/// A tag collection prescribes 16 step collections; one more fails the graph.
#[test]
fn seventeen_step_collections() {
    limited(|| {
        let sum = AtomicUsize::new(0);
        let error = graph(&runtime(2), |g| {
            let (tags, sum) = (g.tags::<usize>("tags"), &sum);
            for name in ["step"; 16].into_iter().chain(["last"]) {
                if name == "last" {
                    tags.put(1);
                    g.wait().unwrap();
                }
                tags.prescribes(g.steps(name).execute(move |n| async move {
                    sum.fetch_add(n, Ordering::Relaxed);
                }));
            }
            tags.put(1);
        });
        let error = error.unwrap_err();
        let Kind::TooManyPrescribed { tags, step, most } = error.kind() else { panic!("{error}") };
        assert_eq!((tags.as_str(), step.as_str(), *most), ("tags", "last", 16));
        assert_eq!(sum.into_inner(), 16);
    });
}

/// A tag that prescribes nothing fails the graph, whether the environment or a step puts it.
#[test]
fn tags_that_prescribe_nothing() {
    limited(|| {
        let error = graph(&runtime(1), |g| g.tags("none").put_all(["a", "b"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tag collection `none` prescribes nothing, and tag \"a\" is put by the environment"
        );
        in_every_mode(|settings, rt| {
            let error = graph_with(rt, settings, |g| {
                let (none, tags) = (g.tags::<(u32, u32)>("none"), g.tags::<u32>("tags"));
                tags.prescribes(g.steps::<u32>("step").execute(move |n| async move { none.put((n, 1)) }));
                tags.put(3);
            });
            let error = error.unwrap_err();
            let Kind::NothingPrescribed { tags, tag, by } = error.kind() else { panic!("{error}, {settings:?}") };
            assert_eq!((tags.as_str(), tag.as_str(), by), ("none", "(3, 1)", &By::Step(name("step", "3"))));
        });
    });
}

/// A priority that panics fails the graph and names its step, even if another step puts the tag.
#[test]
fn priorities_panic() {
    limited(|| {
        in_every_mode(|settings, rt| {
            for by_a_step in [false, true] {
                let error = graph_with(rt, settings, |g| {
                    let (tags, first) = (g.tags("tags"), g.tags("first"));
                    let step = g.steps::<i8>("odd").priority(|&n| {
                        assert!(n % 2 == 1, "{n} is even");
                        n
                    });
                    tags.prescribes(step.execute(|_| async {}));
                    first.prescribes(g.steps::<i8>("first").execute(move |n| async move { tags.put(n) }));
                    if by_a_step { first.put(4) } else { tags.put(4) }
                });
                assert_eq!(panicked(&error.unwrap_err()), (&name("odd", "4"), "4 is even"), "{settings:?}");
            }
        });
    });
}

/// User-defined bounds that contradict themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wild(usize);

impl Bounds for Wild {
    fn size(&self) -> Option<usize> {
        Some(2)
    }

    fn place(&self, key: &Self) -> Option<usize> {
        Some(key.0)
    }

    fn key(&self, place: usize) -> Self {
        Wild(place)
    }
}

#[test]
fn bounds_that_are_wrong() {
    limited(|| {
        let refused = |put: &dyn Fn(&Graph<'_, '_, '_>)| graph(&runtime(1), |g| put(g)).unwrap_err().to_string();
        let text = refused(&|g| g.dense_items("wild", Wild(0)).put(Wild(2), ()));
        assert_eq!(text, "item `wild` Wild(2) lies outside of the bounds Wild(0); asked for by the environment");
        let bounds = (Wild(0), Wild(0), Wild(0));
        for place in [2, 1 << 62, usize::MAX] {
            let text = refused(&|g| g.dense_items("wild", bounds).put((Wild(place), Wild(place), Wild(place)), ()));
            assert!(text.contains("lies outside of the bounds"), "{text}");
        }
    });
}

/// After a failure, a graph can be used until its closure ends. It keeps its first failure.
#[test]
fn after_a_failure() {
    limited(|| {
        in_every_mode(|settings, rt| {
            let error = graph_with(rt, settings, |g| {
                let (items, tags) = (g.items::<u32, u32>("item"), g.tags("tags"));
                let counted = g.counted_items::<u32, u32>("counted", |_| 1);
                tags.prescribes(g.steps::<u32>("step").execute(move |n| async move { _ = items.get(n).await }));
                for key in [7, 7, 8] {
                    assert!(matches!(g.get(items, key).unwrap_err().kind(), Kind::Deadlock(_)));
                    tags.put(key);
                    g.wait().unwrap_err();
                }
                assert!(g.get(counted, 1).is_err());
                counted.put(1, 1);
                assert_eq!(*g.get(counted, 1).unwrap(), 1);
                assert!(g.get(counted, 1).is_err());
                items.put(7, 7);
                assert_eq!((g.get(items, 7).unwrap(), items.try_get(&8)), (&7, None));
                g.finish();
                tags.put(9);
                assert_eq!(g.memory()[0].put, 1);
            });
            let error = error.unwrap_err();
            let Kind::Deadlock(report) = error.kind() else { panic!("{error}, {settings:?}") };
            assert_eq!((report.stuck.len(), report.environment.len()), (0, 1));
        });
    });
}
