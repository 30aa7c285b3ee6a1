//! Loops whose body panics, is cancelled, or runs while its thread unwinds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use millpond::{Handle, Kind, Spawn, for_each};

use super::work;
use crate::common::rng::Rng;
use crate::common::{limit, runtime, sized};

fn panics(item: usize) -> ! {
    resume_unwind(Box::new(item))
}

/// No item runs twice, and each panic is passed on. Later loops on the runtime are complete.
#[test]
fn items_that_panic() {
    limit(120, "panicking items", || {
        for workers in 1..=4 {
            let (rt, mut rng) = (runtime(workers), Rng::new(workers as u64));
            for _ in 0..sized(60, 600) {
                let items = 1 + rng.below(2_000);
                let (bad, every, steps) = (rng.below(items), 1 + rng.below(500), rng.below(2_000));
                let ran: Vec<_> = (0..items).map(|_| AtomicUsize::new(0)).collect();
                let is_bad = |i: usize| i % every == bad % every;
                let result = rt.scope(|_| {
                    catch_unwind(AssertUnwindSafe(|| {
                        for_each(0..items, |i| {
                            ran[i].fetch_add(1, SeqCst);
                            work(steps);
                            if is_bad(i) {
                                panics(i);
                            }
                        })
                    }))
                });
                let item = *result.unwrap().unwrap_err().downcast::<usize>().expect("that of an item");
                assert!(is_bad(item));
                assert!(ran.iter().all(|ran| ran.load(SeqCst) <= 1) && ran[item].load(SeqCst) == 1);
                let sum = AtomicUsize::new(0);
                rt.scope(|_| for_each(0..items, |i| _ = sum.fetch_add(i, SeqCst))).unwrap();
                assert_eq!(sum.into_inner(), items * (items - 1) / 2);
            }
        }
    });
}

/// The other threads stop soon: most of a long loop does not run.
#[test]
fn the_rest_of_the_loop_is_skipped() {
    limit(60, "a panic at the beginning", || {
        for workers in 1..=3 {
            let (rt, ran) = (runtime(workers), AtomicUsize::new(0));
            for _ in 0..10 {
                let result = rt.scope(|_| {
                    catch_unwind(AssertUnwindSafe(|| {
                        for_each(0..usize::MAX, |i| {
                            ran.fetch_add(1, SeqCst);
                            if i == 1_000 {
                                panics(i);
                            }
                        })
                    }))
                });
                assert_eq!(*result.unwrap().unwrap_err().downcast::<usize>().unwrap(), 1_000);
            }
            // Far less than one loop.
            assert!(ran.into_inner() < 1 << 40);
        }
    });
}

/// The task fails like a leaf that panics: its data are poisoned, and the scope returns the
/// failure.
#[test]
fn a_loop_that_panics_fails_its_task() {
    limit(60, "a failing loop", || {
        for workers in 1..=3 {
            let rt = runtime(workers);
            for _ in 0..sized(20, 200) {
                let (bad, good) = (Handle::new(vec![0; 500]), Handle::new(vec![0; 500]));
                let error = rt.scope(|s| {
                    s.task("loop").for_each(bad.inout(), |x| {
                        work(1_000);
                        if *x == 0 {
                            resume_unwind(Box::new("an item"));
                        }
                    });
                    s.for_each((good.inout(), bad.read()), |(_, _)| unreachable!());
                    s.spawn(bad.write(), |bad| bad.set(vec![1]));
                    s.for_each(bad.inout(), |x| *x += 1);
                });
                let error = error.unwrap_err();
                assert_eq!(
                    (error.task().name(), error.to_string().as_str()),
                    (Some("loop"), "task `loop` panicked: an item")
                );
                assert_eq!(bad.into_inner().unwrap(), [2]);
                assert!(matches!(good.into_inner().unwrap_err().kind(), Kind::Poisoned { .. }));
            }
        }
    });
}

/// A cancelled scope starts no loop. A loop that has begun runs to its end.
#[test]
fn cancelled_scopes() {
    limit(60, "cancelled loops", || {
        for workers in 1..=3 {
            let (rt, numbers, after) = (runtime(workers), Handle::new(vec![0; 1_000]), Handle::new(vec![0; 10]));
            let result = rt.scope(|s| {
                let token = s.cancel_token();
                s.for_each(numbers.inout(), move |x| {
                    token.cancel();
                    work(500);
                    *x += 1;
                });
                s.for_each((after.inout(), numbers.read()), |(_, _)| unreachable!());
            });
            assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
            assert_eq!(numbers.into_inner().unwrap(), vec![1; 1_000]);
            assert!(after.into_inner().is_err());
        }
    });
}

/// A loop in a drop, while the thread unwinds. The thread does not share it, because it must not
/// wait.
#[test]
fn while_a_panic_unwinds() {
    struct Loops;
    impl Drop for Loops {
        fn drop(&mut self) {
            let here = thread::current().id();
            for_each(0..20, |_| {
                thread::sleep(Duration::from_micros(20));
                assert_eq!(thread::current().id(), here);
            });
        }
    }
    limit(60, "loops while a panic unwinds", || {
        let rt = runtime(2);
        for _ in 0..sized(20, 200) {
            let result = rt.scope(|_| {
                catch_unwind(|| {
                    let _loops = Loops;
                    panics(0)
                })
            });
            assert!(result.unwrap().is_err());
        }
    });
}
