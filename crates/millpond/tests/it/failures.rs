//! Tasks that fail: the error of their scope, which data are poisoned, which writes clear the
//! error, and that all other tasks run.

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::common::{builder, limit, must_not_run};
use millpond::{Error, Handle, Inline, Kind, Reducer, Runtime, Spawn};

fn runtimes() -> Vec<Runtime> {
    let inlines = [Inline::Auto, Inline::Never, Inline::Always];
    let build = |workers, inline| builder(workers).inline(inline).build().unwrap();
    [1, 2, 8].into_iter().flat_map(|w| inlines.map(|inline| build(w, inline))).collect()
}

/// Fails quietly: a panic without the message of the hook.
fn fail(text: &str) {
    resume_unwind(Box::new(text.to_owned()));
}

fn panicked(text: &str) -> Kind {
    Kind::Panicked(text.to_owned())
}

/// Fails when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            fail("bomb");
        }
    }
}

#[test]
fn the_first_in_reference_order_is_reported() {
    limit(20, "first failure", || {
        for rt in runtimes() {
            let a = Handle::new(0);
            let error = rt.scope(|s| {
                s.spawn((), |()| thread::sleep(Duration::from_millis(5)));
                s.task("slow").spawn((), |()| {
                    thread::sleep(Duration::from_millis(5));
                    fail("first");
                });
                s.task("fast").spawn(a.inout(), |_| fail("second"));
            });
            assert_eq!(error.unwrap_err().to_string(), "task `slow` panicked: first");
        }
    });
}

#[test]
fn poison_follows_reads_until_a_write_clears_it() {
    limit(20, "poison", || {
        for rt in runtimes() {
            let h: Vec<_> = (0..4).map(Handle::new).collect();
            let ran = AtomicU32::new(0);
            let mut joins = Vec::new();
            rt.scope(|s| {
                s.task("source").spawn(h[0].inout(), |_| fail("no"));
                let a = s.task("near").spawn((h[0].read(), h[1].inout()), |_| must_not_run());
                let b = s.task("far").spawn((h[1].read(), h[2].write()), |_| must_not_run());
                s.spawn(h[3].inout(), |_| _ = ran.fetch_add(1, SeqCst));
                s.spawn(h[0].write(), |out| out.set(10));
                s.spawn((h[0].read(), h[3].inout()), |(a, b)| *b += *a);
                joins.extend([s.wait(a).unwrap_err(), s.wait(b).unwrap_err()]);
            })
            .unwrap_err();
            let source = |error: &Error| error.source().map(ToString::to_string);
            for (error, name) in joins.iter().zip(["near", "far"]) {
                let text = format!("task `{name}` is poisoned: it reads what task `source` failed to produce");
                assert_eq!(error.to_string(), text);
                assert_eq!(source(error).as_deref(), Some("task `source` panicked: no"));
            }
            let mut values = h.into_iter().map(|h| h.into_inner().ok());
            assert_eq!(values.by_ref().collect::<Vec<_>>(), [Some(10), None, None, Some(13)]);
            assert_eq!(ran.into_inner(), 1);
        }
    });
}

#[test]
fn a_poisoned_handle_stays_poisoned_in_the_next_scope() {
    limit(20, "poisoned handle", || {
        for rt in runtimes() {
            let mut a = Handle::new(0);
            rt.scope(|s| drop(s.task("bad").spawn(a.inout(), |_| fail("no")))).unwrap_err();
            let error = rt.scope(|s| drop(s.spawn(a.commutative(), |_| ()))).unwrap_err();
            assert!(matches!(error.kind(), Kind::Poisoned { by } if by.name() == Some("bad")));
            rt.scope(|s| assert!(s.wait_on(&mut a).is_err())).unwrap();
            assert!(a.get_mut().is_err());
            rt.scope(|s| s.set(&a, 3)).unwrap();
            assert_eq!(a.into_inner().unwrap(), 3);
        }
    });
}

/// Two generations of the same mode, each after a failure. The leaf between them ran at its spawn.
#[test]
fn a_leaf_that_fails_at_its_spawn_is_a_generation_of_its_own() {
    limit(20, "a generation of its own", || {
        for inline in [Inline::Never, Inline::Always] {
            let rt = Runtime::builder().workers(1).inline(inline).build().unwrap();
            let a = Handle::new(0);
            rt.scope(|s| {
                s.task("first").spawn(a.commutative(), |_| fail("no"));
                s.task("second").spawn(a.write(), |a| {
                    a.set(1);
                    fail("nor this")
                });
                let last = s.spawn(a.commutative(), |_| must_not_run());
                assert!(
                    matches!(s.wait(last).unwrap_err().kind(), Kind::Poisoned { by } if by.name() == Some("second"))
                );
            })
            .unwrap_err();
        }
    });
}

#[test]
fn captured_values_that_fail_when_dropped() {
    limit(20, "captured bombs", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(0), Handle::new(0));
            let bomb = Bomb;
            let result = rt.scope(|s| {
                s.spawn(a.inout(), move |a| {
                    let _captured = &bomb;
                    *a += 1;
                });
            });
            assert_eq!(result.unwrap_err().kind(), &panicked("bomb"));
            // It is dropped without having run. This does not change the task's error.
            let bomb = Bomb;
            let result = rt.scope(|s| {
                s.spawn((a.read(), b.inout()), move |_| {
                    let _captured = &bomb;
                });
            });
            assert!(matches!(result.unwrap_err().kind(), Kind::Poisoned { .. }));
        }
    });
}

#[test]
fn values_that_fail_when_dropped() {
    limit(20, "values that are bombs", || {
        for workers in [1, 2] {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            let bomb = Handle::new(Bomb);
            for _ in 0..10 {
                let _ = rt.scope(|s| {
                    s.spawn(bomb.inout(), |_| thread::sleep(Duration::from_millis(1)));
                    s.spawn(bomb.write(), |out| out.set(Bomb));
                    s.spawn((), |()| ());
                    // Gives the worker time to take the first task, whose completion frees the
                    // first value.
                    thread::sleep(Duration::from_millis(5));
                });
            }
            std::mem::forget(bomb.into_inner());
            rt.scope(|s| drop(s.spawn((), |()| ()))).unwrap();
        }
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fails {
    InIdentity,
    InCombine,
}

impl Reducer<u32> for Fails {
    fn identity(&self, _like: &u32) -> u32 {
        if *self == Fails::InIdentity {
            fail("identity");
        }
        0
    }
    fn combine(&self, into: &mut u32, part: u32) {
        if *self == Fails::InCombine {
            fail("combine");
        }
        *into += part;
    }
}

#[test]
fn reducers_that_fail() {
    limit(20, "reducers that fail", || {
        for rt in runtimes() {
            for (reducer, text) in [(Fails::InIdentity, "identity"), (Fails::InCombine, "combine")] {
                let (a, b) = (Handle::new(1), Handle::new(1));
                let error = rt.scope(|s| {
                    for _ in 0..5 {
                        s.spawn(a.reduce(reducer), |part| *part += 1);
                    }
                    s.spawn((a.read(), b.inout()), |(a, b)| *b += *a);
                });
                assert_eq!(error.unwrap_err().kind(), &panicked(text));
                assert!(a.into_inner().is_err());
                assert!(b.into_inner().is_err());
            }
        }
    });
}

#[test]
fn a_failed_part_poisons_the_reduction() {
    limit(20, "failed part", || {
        for rt in runtimes() {
            let a = Handle::new(1);
            let error = rt.scope(|s| {
                for i in 0..8 {
                    s.task("part").index([i]).spawn(a.reduce(millpond::Sum), move |part| {
                        *part += 1;
                        if i == 3 {
                            fail("no");
                        }
                    });
                }
            });
            assert_eq!(error.unwrap_err().to_string(), "task `part(3)` panicked: no");
            assert!(a.into_inner().is_err());
        }
    });
}

#[test]
fn a_parent_that_fails_after_spawning() {
    limit(20, "failing parent", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(0), Handle::new(0));
            let ran = AtomicU32::new(0);
            let error = rt.scope(|s| {
                s.task("parent").nest((a.inout(), b.read()), |s, (a, b)| {
                    for _ in 0..10 {
                        s.spawn((a.inout(), b.read()), |(a, _)| *a += ran.fetch_add(1, SeqCst));
                    }
                    fail("late");
                });
            });
            assert_eq!(error.unwrap_err().to_string(), "task `parent` panicked: late");
            assert_eq!(ran.into_inner(), 10, "its children run all the same");
            assert!(a.into_inner().is_err());
            assert_eq!(b.into_inner().unwrap(), 0, "what it only read is as it was");
        }
    });
}

#[test]
fn a_child_that_fails_fails_its_parent() {
    limit(20, "failing child", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(0), Handle::new(0));
            let error = rt.scope(|s| {
                let join = s.nest((a.inout(), b.inout()), |s, (a, b)| {
                    s.task("child").spawn(a.inout(), |_| fail("no"));
                    s.spawn(b.inout(), |b| *b += 1);
                    5
                });
                assert_eq!(s.wait(join).unwrap_err().task().name(), Some("child"));
            });
            assert_eq!(error.unwrap_err().to_string(), "task `child` panicked: no");
            assert!(a.into_inner().is_err());
            assert_eq!(b.into_inner().unwrap(), 1, "poison travels with versions, not with parents");
        }
    });
}

#[test]
fn the_panic_of_the_scope_s_own_closure_goes_on_after_its_tasks() {
    limit(20, "panicking closure", || {
        for rt in runtimes() {
            let a = Handle::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                rt.scope(|s| {
                    for _ in 0..10 {
                        s.spawn(a.inout(), |a| {
                            thread::sleep(Duration::from_millis(1));
                            *a += 1;
                        });
                    }
                    fail("closure");
                })
            }));
            assert_eq!(*result.unwrap_err().downcast::<String>().unwrap(), "closure");
            assert_eq!(a.into_inner().unwrap(), 10);
            rt.scope(|s| drop(s.spawn((), |()| ()))).unwrap();
        }
    });
}

#[test]
fn forks_that_fail() {
    limit(20, "failing forks", || {
        for rt in runtimes() {
            let ran = AtomicU32::new(0);
            let half = |bad: bool| {
                move |ran: &AtomicU32| {
                    if bad {
                        fail("half");
                    }
                    ran.fetch_add(1, SeqCst)
                }
            };
            for bad in [(true, false), (false, true), (true, true)] {
                let error = rt.scope(|s| {
                    s.spawn((), |()| millpond::join(|| half(bad.0)(&ran), || half(bad.1)(&ran)));
                });
                assert_eq!(error.unwrap_err().kind(), &panicked("half"));
            }
            assert!(ran.into_inner() <= 2, "the sound halves");
        }
    });
}

#[test]
fn an_abandoned_precondition_fails_its_task() {
    limit(20, "abandoned", || {
        for rt in runtimes() {
            let ran = AtomicU32::new(0);
            let error = rt.scope(|s| {
                let pending = s.external().pending(|| must_not_run());
                let (met, dropped) = (pending.hold(), pending.hold());
                drop(pending);
                s.spawn((), move |()| drop(dropped));
                s.spawn((), move |()| met.satisfy());
                let pending = s.external().pending_nest(|s| {
                    s.spawn((), |()| _ = ran.fetch_add(1, SeqCst));
                });
                let met = pending.hold();
                thread::scope(|threads| threads.spawn(move || met.satisfy()).join().expect("it is satisfied"));
            });
            let error = error.unwrap_err();
            assert_eq!(error.kind(), &Kind::Abandoned);
            assert!(error.to_string().ends_with("waited for a precondition that was dropped"));
            assert!(error.task().to_string().contains("failures.rs:"));
            assert_eq!(ran.into_inner(), 1);
        }
    });
}

#[test]
fn a_precondition_captured_by_a_task_that_does_not_run_is_abandoned() {
    limit(20, "abandoned by a poisoned task", || {
        for rt in runtimes() {
            let a = Handle::<u32>::unset();
            let error = rt.scope(|s| {
                let pending = s.external().pending(|| must_not_run());
                let held = pending.hold();
                s.spawn(a.read(), move |_| held.satisfy());
            });
            assert_eq!(error.unwrap_err().kind(), &Kind::NeverWritten { arg: 0 });
        }
    });
}

/// Panics when it is dropped, each time.
struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        resume_unwind(Box::new(Endless));
    }
}

#[test]
fn what_a_panic_carries_may_panic_when_it_is_dropped() {
    limit(20, "bombs", || {
        for (workers, inline) in [(1, Inline::Always), (1, Inline::Never), (2, Inline::Never)] {
            let rt = builder(workers).inline(inline).build().unwrap();
            let (a, b) = (Handle::new(1), Handle::new(1));
            let error = rt.scope(|s| {
                s.task("leaf").spawn(a.inout(), |_| resume_unwind(Box::new(Endless)));
                let join = s.task("value").spawn((), |()| -> u32 { resume_unwind(Box::new(Endless)) });
                s.task("parent").nest(b.inout(), |s, b| {
                    s.spawn(b.inout(), |b| *b += 1);
                    resume_unwind(Box::new(Endless))
                });
                assert!(s.wait(join).is_err());
            });
            assert_eq!(error.unwrap_err().to_string(), "task `leaf` panicked: a payload that is not text");
            assert!(a.into_inner().is_err() && b.into_inner().is_err());
            rt.scope(|s| drop(s.spawn((), |()| ()))).unwrap();
        }
    });
}
