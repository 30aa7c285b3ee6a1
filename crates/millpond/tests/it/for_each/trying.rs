//! Loops whose body may fail: the error is that of the serial loop.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};

use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Handle, Spawn, each, on_runtime, try_for_each};

use super::{Plan, work};
use crate::common::rng::Rng;
use crate::common::{builder, limit, runtime, sized};

/// An error that counts how many of its kind exist.
struct Failed<'a>(usize, &'a AtomicIsize);

impl<'a> Failed<'a> {
    fn new(item: usize, live: &'a AtomicIsize) -> Self {
        live.fetch_add(1, SeqCst);
        Failed(item, live)
    }
}

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

/// Runs a loop some of whose items fail, and checks which items have run.
fn check(plan: Plan, every: usize, bad: usize) {
    let (live, is_bad) = (AtomicIsize::new(0), |i: usize| i % every == bad);
    let mut ran = vec![0; plan.items];
    let result = try_for_each(each::indexed(&mut ran), |(i, ran)| {
        plan.cost(i);
        *ran += 1;
        if is_bad(i) { Err(Failed::new(i, &live)) } else { Ok(()) }
    });
    let first = (0..plan.items).find(|i| is_bad(*i));
    assert_eq!(result.as_ref().err().map(|error| error.0), first, "{plan:?}");
    let before = first.map_or(plan.items, |first| first + 1);
    assert!(ran[..before].iter().all(|ran| *ran == 1) && ran[before..].iter().all(|ran| *ran <= 1), "{plan:?}");
    drop(result);
    assert_eq!(live.into_inner(), 0);
}

#[test]
fn the_first_failed_item_gives_the_error() {
    for (turn, names) in Names::star().enumerate() {
        limit(120, format!("items that fail, {names}"), || {
            let mut rng = Rng::new(turn as u64);
            let any = AnyRuntime::build(builder(rng.pick(&[1, 2, 4])), names).unwrap();
            for turn in 0..sized(12, 120) {
                let (plan, every) = (Plan::random(&mut rng), 1 + rng.below(3_000));
                let bad = rng.below(every);
                on_runtime!(&any, rt => match turn % 3 {
                    0 => rt.scope(|_| check(plan, every, bad)),
                    1 => rt.scope(|s| drop(s.spawn((), move |()| check(plan, every, bad)))),
                    _ => rt.scope(|s| drop(s.nest((), move |_, ()| check(plan, every, bad)))),
                })
                .unwrap();
            }
            // No runtime at all.
            check(Plan::random(&mut rng), 100, 50);
        });
    }
}

/// The rest of the loop is not begun: it would take too long even to pass over.
#[test]
fn the_rest_is_not_begun() {
    limit(60, "an error at the beginning", || {
        for workers in 1..=4 {
            let rt = runtime(workers);
            for steps in [0, 1_000] {
                for _ in 0..10 {
                    let result = rt.scope(|_| {
                        try_for_each(0..usize::MAX, |i| {
                            work(steps);
                            if i >= 1_000 { Err(i) } else { Ok(()) }
                        })
                    });
                    assert_eq!(result.unwrap(), Err(1_000));
                }
            }
        }
    });
}

/// A panic is passed on, whether or not another item has failed.
#[test]
fn items_that_fail_and_panic() {
    limit(60, "errors and panics", || {
        for workers in 1..=3 {
            let (rt, live) = (runtime(workers), AtomicIsize::new(0));
            for _ in 0..sized(20, 200) {
                let result = rt.scope(|_| {
                    catch_unwind(AssertUnwindSafe(|| {
                        try_for_each(0..300, |i| {
                            work(1_000);
                            match i {
                                100 => resume_unwind(Box::new("an item")),
                                200 => Err(Failed::new(i, &live)),
                                _ => Ok(()),
                            }
                        })
                        .map_err(|error| error.0)
                    }))
                });
                let panic = result.unwrap().expect_err("item 100 panics, and all items before 200 run");
                assert_eq!(panic.downcast_ref(), Some(&"an item"));
                assert_eq!(live.load(SeqCst), 0);
            }
        }
    });
}

/// The body of a `try_spawn` returns the result, and so fails its task.
#[test]
fn a_loop_that_fails_its_task() {
    limit(60, "a failing loop", || {
        for workers in 1..=3 {
            let (rt, numbers, ran) = (runtime(workers), Handle::new(vec![1; 500]), AtomicUsize::new(0));
            let result = rt.scope(|s| {
                s.task("loop").try_spawn(numbers.inout(), |numbers| {
                    try_for_each(each::indexed(numbers), |(i, x)| {
                        *x += 1;
                        if i >= 300 { Err(format!("item {i}")) } else { Ok(()) }
                    })
                });
                s.spawn(numbers.read(), |_| _ = ran.fetch_add(1, SeqCst));
            });
            assert_eq!(result.unwrap_err().to_string(), "task `loop` failed: item 300");
            assert!(numbers.into_inner().is_err() && ran.into_inner() == 0);
        }
    });
}
