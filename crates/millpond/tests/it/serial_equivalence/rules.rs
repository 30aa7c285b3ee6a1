//! The rules of the model, one tiny program each, on every kind of runtime.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use millpond::{Error, Handle, Inline, Kind, Reducer, Runtime, Spawn, Sum};

use super::execute::expected_panic;
use crate::common::silence_expected_panics;
use crate::common::watchdog::Watchdog;

/// Runs a program on one worker and on several, with leaves inline and not. Repeats it, because a
/// failure may be rare.
fn everywhere(program: impl Fn(&Runtime)) {
    silence_expected_panics();
    let dog = Watchdog::new(Duration::from_secs(20));
    for workers in [1, 2, 8] {
        for (inline, window) in [(Inline::Never, 4096), (Inline::Always, 4096), (Inline::Auto, 2)] {
            let show = move || format!("{workers} workers, {inline:?}, window {window}");
            dog.over(show, || {
                let rt = Runtime::builder().workers(workers).window(window).inline(inline);
                let rt = rt.build().expect("valid choices");
                (0..20).for_each(|_| program(&rt));
            });
        }
    }
}

fn no() -> ! {
    expected_panic(0)
}

/// What an error says, without the places of unnamed tasks.
fn kind(result: Result<impl Sized, Error>) -> Kind {
    result.err().expect("it should fail").kind().clone()
}

/// The name of the task that a value is missing because of.
fn poisoner(result: Result<impl Sized, Error>) -> &'static str {
    match kind(result) {
        Kind::Poisoned { by } => by.name().expect("a named task"),
        other => panic!("should be poisoned, is {other:?}"),
    }
}

#[test]
fn poison_travels_through_reads_and_ends_at_a_write() {
    everywhere(|rt| {
        let (a, b, c) = (Handle::new(1), Handle::new(2), Handle::new(3));
        let error = rt.scope(|s| {
            s.task("bad").spawn(a.inout(), |_| no());
            s.task("next").spawn((a.read(), b.inout()), |(a, b)| *b += *a);
            s.task("last").spawn((b.read(), c.inout()), |(b, c)| *c += *b);
            s.spawn(b.write(), |b| b.set(7));
        });
        assert_eq!(error.expect_err("a task failed").task().name(), Some("bad"));
        assert_eq!(poisoner(a.into_inner()), "bad");
        assert_eq!(b.into_inner().expect("written again"), 7);
        assert_eq!(poisoner(c.into_inner()), "bad");
    });
}

#[test]
fn a_failed_reader_poisons_nothing_it_reads() {
    everywhere(|rt| {
        let a = Handle::new(1);
        let result = rt.scope(|s| {
            s.spawn(a.read(), |_| no());
            s.spawn(a.inout(), |a| *a += 1);
        });
        assert!(matches!(kind(result), Kind::Panicked(_)));
        assert_eq!(a.into_inner().expect("not poisoned"), 2);
    });
}

#[test]
fn the_error_is_the_first_in_reference_order() {
    everywhere(|rt| {
        let result = rt.scope(|s| {
            s.task("first").spawn((), |()| {
                thread::yield_now();
                no()
            });
            s.task("second").spawn((), |()| no());
        });
        assert_eq!(result.expect_err("two tasks failed").task().name(), Some("first"));
    });
}

#[test]
fn a_failed_member_poisons_what_follows_its_generation_only() {
    everywhere(|rt| {
        let (a, ran) = (Handle::new(0), AtomicU64::new(0));
        let count = || ran.fetch_add(1, Ordering::Relaxed);
        let result = rt.scope(|s| {
            s.task("bad").spawn(a.commutative(), |_| no());
            for _ in 0..3 {
                s.spawn(a.commutative(), |_| count());
            }
            s.spawn(a.read(), |_| count());
            s.spawn(a.commutative(), |_| count());
        });
        assert!(result.is_err());
        assert_eq!(ran.load(Ordering::Relaxed), 3);
        assert_eq!(poisoner(a.into_inner()), "bad");
    });
}

/// During the wait, the members may have run or not. That must not affect the later ones.
#[test]
fn a_wait_ends_a_generation() {
    everywhere(|rt| {
        let mut a = Handle::new(0);
        let ran = AtomicU64::new(0);
        let result = rt.scope(|s| {
            s.task("bad").spawn(a.commutative(), |_| no());
            assert_eq!(poisoner(s.wait_on(&mut a)), "bad");
            s.spawn(a.commutative(), |_| ran.fetch_add(1, Ordering::Relaxed));
        });
        assert!(result.is_err());
        assert_eq!(ran.into_inner(), 0);
    });
}

#[test]
fn a_forgotten_write_poisons_its_readers() {
    everywhere(|rt| {
        let (a, b) = (Handle::new(1), Handle::new(2));
        let result = rt.scope(|s| {
            s.task("leaf").spawn((b.read(), a.write()), |_| ());
        });
        assert_eq!(kind(result), Kind::Unwritten { arg: 1 });
        assert_eq!(poisoner(a.into_inner()), "leaf");
    });
}

#[test]
fn a_parent_that_forgets_a_write_poisons_its_readers() {
    everywhere(|rt| {
        let a = Handle::new(1);
        let result = rt.scope(|s| {
            s.task("parent").nest(a.write(), |_, _| ());
        });
        assert_eq!(kind(result), Kind::Unwritten { arg: 0 });
        assert_eq!(poisoner(a.into_inner()), "parent");
    });
}

#[test]
fn what_was_never_written_cannot_be_read() {
    everywhere(|rt| {
        let (a, b, c) = (Handle::<u64>::unset(), Handle::new(1), Handle::<u64>::unset());
        let result = rt.scope(|s| {
            s.spawn((b.read(), a.reduce(Sum)), |_| ());
            s.task("late").spawn(c.inout(), |_| ());
        });
        assert_eq!(kind(result), Kind::NeverWritten { arg: 1 });
        assert_eq!(kind(a.into_inner()), Kind::NeverWritten { arg: 0 });
        assert_eq!(poisoner(c.into_inner()), "late");
    });
}

#[test]
fn a_parent_fails_with_its_child_but_keeps_what_was_produced() {
    everywhere(|rt| {
        let (a, b) = (Handle::new(1), Handle::new(2));
        let result = rt.scope(|s| {
            let join = s.nest((a.inout(), b.inout()), |s, (a, b)| {
                s.task("child").spawn(a.inout(), |_| no());
                s.spawn(b.inout(), |b| *b += 1);
            });
            assert_eq!(s.wait(join).expect_err("it failed").task().name(), Some("child"));
        });
        assert!(result.is_err());
        assert_eq!(poisoner(a.into_inner()), "child");
        assert_eq!(b.into_inner().expect("produced"), 3);
    });
}

#[test]
fn a_parent_that_panics_poisons_all_that_it_writes() {
    everywhere(|rt| {
        let (a, b) = (Handle::new(1), Handle::new(2));
        let result = rt.scope(|s| {
            s.task("parent").nest((a.inout(), b.reduce(Sum)), |s, (a, b)| {
                s.spawn(a.inout(), |a| *a += 1);
                s.spawn(b.inout(), |b| *b += 1);
                no()
            });
        });
        assert!(matches!(kind(result), Kind::Panicked(_)));
        assert_eq!(poisoner(a.into_inner()), "parent");
        assert_eq!(poisoner(b.into_inner()), "parent");
    });
}

/// If only a child failed that does not write a parent's part, that part is valid.
#[test]
fn a_part_survives_a_failed_child_that_did_not_write_it() {
    everywhere(|rt| {
        let a = Handle::new(vec![1]);
        let result = rt.scope(|s| {
            s.nest(a.reduce(Concat), |s, a| {
                s.spawn(a.inout(), |a| a.push(2));
                s.spawn((), |()| no());
            });
        });
        assert!(result.is_err());
        assert_eq!(a.into_inner().expect("produced"), [1, 2]);
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Concat;

impl Reducer<Vec<u64>> for Concat {
    fn identity(&self, _like: &Vec<u64>) -> Vec<u64> {
        Vec::new()
    }
    fn combine(&self, into: &mut Vec<u64>, part: Vec<u64>) {
        into.extend(part);
    }
}

/// Members of a reduction that cannot run have no private copy to give up.
#[test]
fn poisoned_reductions() {
    everywhere(|rt| {
        let a = Handle::new(vec![1]);
        let result = rt.scope(|s| {
            s.task("bad").spawn(a.inout(), |_| no());
            for _ in 0..3 {
                s.spawn(a.reduce(Concat), |part| part.push(2));
            }
        });
        assert!(result.is_err());
        assert_eq!(poisoner(a.into_inner()), "bad");
    });
}

/// The private copy of a parent. A grandchild has already dropped its value to write another.
#[test]
fn a_part_that_was_to_be_overwritten() {
    everywhere(|rt| {
        let a = Handle::new(vec![1]);
        let result = rt.scope(|s| {
            s.nest(a.reduce(Concat), |s, a| {
                s.spawn(a.inout(), |a| a.push(2));
                s.task("idle").nest(a.write(), |_, _| ());
            });
        });
        assert_eq!(kind(result), Kind::Unwritten { arg: 0 });
        assert_eq!(poisoner(a.into_inner()), "idle");
    });
}

/// A commutative parent's child should have written the value again, but failed. The parent's
/// neighbours must not find the dropped value.
#[test]
fn a_commutative_parent_that_lost_the_value() {
    everywhere(|rt| {
        let a = Handle::new(vec![1; 100]);
        let result = rt.scope(|s| {
            for _ in 0..3 {
                s.nest(a.commutative(), |s, a| {
                    s.spawn(a.read(), |a| assert!(a.len() >= 100));
                    s.spawn(a.write(), |_| no());
                });
                s.spawn(a.commutative(), |a| {
                    assert!(a.len() >= 100);
                    a.push(2);
                });
            }
        });
        assert!(matches!(kind(result), Kind::Panicked(_)));
        assert!(a.into_inner().is_err());
    });
}

#[test]
fn a_datum_named_twice() {
    everywhere(|rt| {
        let (a, b, c) = (Handle::new(1), Handle::new(2), Handle::new(3));
        let result = rt.scope(|s| {
            let twice = s.task("twice").spawn((b.read(), a.read(), a.inout()), |_| ());
            assert_eq!(kind(s.wait(twice)), Kind::Duplicate { args: (1, 2) });
            s.task("thrice").spawn((c.read(), c.reduce(Sum)), |_| ());
        });
        assert_eq!(result.expect_err("misuse").task().name(), Some("twice"));
        assert_eq!(poisoner(a.into_inner()), "twice");
        assert_eq!(b.into_inner().expect("only read"), 2);
        assert_eq!(poisoner(c.into_inner()), "thrice");
    });
}

#[test]
fn a_concurrent_datum_named_twice_poisons_what_follows() {
    everywhere(|rt| {
        let a = Handle::new(1_u64);
        let ran = AtomicU64::new(0);
        let result = rt.scope(|s| {
            s.spawn((a.concurrent(), a.reduce(Sum)), |_| ());
            s.spawn(a.concurrent(), |_| ran.fetch_add(1, Ordering::Relaxed));
        });
        assert_eq!(kind(result), Kind::Duplicate { args: (0, 1) });
        assert_eq!(ran.into_inner(), 0);
    });
}

#[test]
fn a_pending_task_with_a_dropped_precondition_is_abandoned() {
    everywhere(|rt| {
        let result = rt.scope(|s| {
            let pending = s.external().pending(|| unreachable!("one precondition is not met"));
            let (one, two) = (pending.hold(), pending.hold());
            s.spawn((), |()| one.satisfy());
            s.spawn((), |()| {
                let _dropped = two;
                no()
            });
        });
        assert!(matches!(kind(result), Kind::Panicked(_)));
        let result = rt.scope(|s| drop(s.external().pending(|| ()).hold()));
        assert_eq!(kind(result), Kind::Abandoned);
    });
}

#[test]
fn a_precondition_may_be_met_by_another_thread() {
    everywhere(|rt| {
        let done = AtomicU64::new(0);
        let result = rt.scope(|s| {
            let pending = s.external().pending(|| done.store(1, Ordering::Relaxed));
            let precondition = pending.hold();
            drop(pending);
            thread::scope(|threads| {
                threads.spawn(|| precondition.satisfy());
            });
        });
        result.expect("nothing fails");
        assert_eq!(done.load(Ordering::Relaxed), 1);
    });
}

/// Tasks that wait for what is not spawned yet must not fill the window.
#[test]
fn pending_tasks_leave_room_for_those_that_they_wait_for() {
    silence_expected_panics();
    let dog = Watchdog::new(Duration::from_secs(20));
    for window in [1, 2, 4] {
        dog.over(
            move || format!("window {window}"),
            || {
                let rt = Runtime::builder().workers(2).window(window).build().expect("valid choices");
                let sum = AtomicU64::new(0);
                let result = rt.scope(|s| {
                    let count = || _ = sum.fetch_add(1, Ordering::Relaxed);
                    let pendings: Vec<_> = (0..8).map(|_| s.external().pending(count)).collect();
                    let holds: Vec<_> = pendings.iter().map(|pending| pending.hold()).collect();
                    drop(pendings);
                    holds.into_iter().for_each(|hold| drop(s.spawn((), |()| hold.satisfy())));
                });
                result.expect("nothing fails");
                assert_eq!(sum.into_inner(), 8);
            },
        );
    }
}

#[test]
fn nothing_starts_that_is_spawned_after_a_cancellation() {
    everywhere(|rt| {
        let a = Handle::new(0);
        let result = rt.scope(|s| {
            s.cancel_token().cancel();
            let join = s.spawn(a.inout(), |a| *a += 1);
            assert_eq!(kind(s.wait(join)), Kind::Cancelled);
        });
        assert_eq!(kind(result), Kind::Cancelled);
        assert!(matches!(kind(a.into_inner()), Kind::Poisoned { .. }));
    });
}

#[test]
fn a_scope_in_a_task_is_cancelled_alone() {
    everywhere(|rt| {
        let (a, b) = (Handle::new(0), Handle::new(0));
        let result = rt.scope(|s| {
            s.nest(a.inout(), |s, a| {
                s.cancel_token().cancel();
                s.spawn(a.inout(), |a| *a += 1);
            });
            s.spawn(b.inout(), |b| *b += 1);
        });
        assert_eq!(kind(result), Kind::Cancelled);
        assert_eq!(b.into_inner().expect("not cancelled"), 1);
    });
}

/// A reduction that ends with a body whose tasks were counted, all on one worker.
#[test]
fn reductions_are_counted_once() {
    everywhere(|rt| {
        let mut a = Handle::new(0);
        let result = rt.scope(|s| {
            for _ in 0..3 {
                s.spawn(a.reduce(Sum), |part| *part += 1);
                s.spawn(a.inout(), |a| *a += 1);
                s.spawn(a.reduce(Sum), |part| *part += 1);
                *s.wait_on(&mut a).expect("produced") += 1;
            }
        });
        result.expect("nothing fails");
        assert_eq!(a.into_inner().expect("produced"), 12);
    });
}
