//! Steps that start again. They do not repeat their earlier effects.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{limited, runtime};
use millpond_cnc::{Blocked, Error, Graph, ItemName, Kind, Preconditions, Settings, StepName, graph_with};

fn replay() -> Settings {
    Settings { preconditions: Preconditions::Eager, blocked: Blocked::Replay, ..Settings::default() }
}

/// Runs a graph in which step `early` 3 gets the item `value` 3 too early, with one worker and with
/// more. It fails, and the error says what the step had done.
fn refused(done: &str, build: impl for<'g, 'x> Fn(&'g Graph<'g, 'x, '_>) -> Result<(), Error>) {
    for workers in [1, 2, 8] {
        let ran = graph_with(&runtime(workers), replay(), |g| build(g));
        let error = ran.and_then(|built| built).unwrap_err();
        let Kind::PutBeforeGet { step, item, done: found } = error.kind() else { panic!("{error}, {workers} workers") };
        assert_eq!(*step, StepName { step: "early".to_owned(), tag: "3".to_owned() });
        assert_eq!(*item, ItemName { collection: "value".to_owned(), key: "3".to_owned() });
        assert_eq!(found, done);
    }
}

/// A second put of a tag would prescribe its steps again. No item of these steps would show it.
#[test]
fn a_tag_is_put_before_a_get() {
    limited(|| {
        static CHILDREN: AtomicU32 = AtomicU32::new(0);
        refused("put tag `children` (3, \"c\")", |g| {
            let (values, tags, next) = (g.items::<u32, u32>("value"), g.tags::<u32>("steps"), g.tags("children"));
            next.prescribes(g.steps::<(u32, &str)>("child").execute(move |_| async move {
                CHILDREN.fetch_add(1, Ordering::Relaxed);
            }));
            tags.prescribes(g.steps::<u32>("early").execute(move |n| async move {
                next.put((n, "c"));
                next.put((n, "d"));
                values.get(n).await;
            }));
            tags.put(3);
            // Now the step has reached the missing item, which is put only now.
            _ = g.wait();
            values.put(3, 0);
            g.wait()
        });
        // In three runs, each child runs at most once.
        assert!(CHILDREN.load(Ordering::Relaxed) <= 6);
    });
}

/// The drop of a value of the body has an effect, so it has one each time that the step is
/// suspended.
#[test]
fn a_tag_is_put_when_the_body_is_dropped() {
    struct OnDrop<F: Fn()>(F);
    impl<F: Fn()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    limited(|| {
        refused("put tag `children` 4", |g| {
            let (values, tags, next) = (g.items::<u32, u32>("value"), g.tags::<u32>("steps"), g.tags("children"));
            next.prescribes(g.steps::<u32>("child").execute(|_| async {}));
            tags.prescribes(g.steps::<u32>("early").execute(move |n| async move {
                let _last = OnDrop(|| next.put(n + 1));
                values.get(n).await;
            }));
            tags.put(3);
            _ = g.wait();
            values.put(3, 0);
            g.wait()
        });
    });
}

/// A step changes an enclosing graph. That graph does not start again with the step.
#[test]
fn an_enclosing_graph_is_changed_before_a_get() {
    limited(|| {
        for what in ["put item `outer` 3", "put item `counted` 3", "put tag `outer tags` 3", "used up"] {
            let done = if what == "used up" { "used up an item of an enclosing graph" } else { what };
            refused(done, |outer| {
                let (items, all) = (outer.items::<u32, ()>("outer"), outer.tags::<u32>("outer tags"));
                all.prescribes(outer.steps::<u32>("outer step").execute(|_| async {}));
                let counted = outer.counted_items::<u32, u32>("counted", |_| 1);
                counted.put(9, 9);
                let inner = graph_with(&runtime(1), replay(), |g| {
                    let (values, tags) = (g.items::<u32, u32>("value"), g.tags::<u32>("steps"));
                    tags.prescribes(g.steps::<u32>("early").execute(move |n| async move {
                        match what {
                            "put item `outer` 3" => items.put(n, ()),
                            "put item `counted` 3" => counted.put(n, 0),
                            "put tag `outer tags` 3" => all.put(n),
                            _ => drop(counted.get(9).await),
                        }
                        values.get(n).await;
                    }));
                    tags.put(3);
                    _ = g.wait();
                    values.put(3, 0);
                    g.wait()
                });
                inner.and_then(|waited| waited)
            });
        }
    });
}

/// Values that a step makes are made again: a graph within it, and uses that it returns.
#[test]
fn a_graph_within_a_step_starts_again() {
    limited(|| {
        for workers in [1, 2] {
            let rt = runtime(workers);
            let sum = graph_with(&rt, replay(), |g| {
                let (values, sums, tags) = (g.items::<u32, u32>("value"), g.items("sum"), g.tags::<u32>("steps"));
                let once = g.counted_items::<u32, u32>("once", |_| 1);
                let rt = &rt;
                tags.prescribes(g.steps::<u32>("nests").execute(move |n| async move {
                    let inner = graph_with(rt, replay(), |g| {
                        let (inner, tags) = (g.items::<u32, u32>("inner"), g.tags::<u32>("tags"));
                        tags.prescribes(g.steps::<u32>("double").execute(move |n| async move { inner.put(n, 2 * n) }));
                        tags.put(n);
                        g.get(inner, n).copied()
                    });
                    let one = once.get(n).await;
                    let sum = inner.unwrap().unwrap() + *one + values.get(n).await;
                    sums.put(n, sum);
                }));
                tags.put(3);
                once.put(3, 10);
                g.wait().unwrap();
                values.put(3, 100);
                g.get(sums, 3).copied()
            });
            assert_eq!(sum.unwrap().unwrap(), 116);
        }
    });
}
