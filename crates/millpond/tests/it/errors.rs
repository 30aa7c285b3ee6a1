//! Bodies that return errors; scopes that stop at the first failure, and what a scope remembers of
//! failures.

use std::error::Error as _;
use std::fmt;
use std::num::ParseIntError;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use crate::common::{alone, builder, limit, must_not_run, sized};
use crate::lifecycle::resident_kib;
use millpond::{Engine, Error, Handle, Inline, Kind, Runtime, Spawn, StackEngine};

/// Runs a test under the default scheme and on the dataflow stack, with some numbers of workers and
/// ways to start a leaf.
macro_rules! everywhere {
    ($name:literal, |$rt:ident| $test:block) => {
        fn test<E: Engine>($rt: &Runtime<E>) $test
        limit(60, $name, || {
            for workers in [1, 2, 8] {
                for inline in [Inline::Auto, Inline::Never, Inline::Always] {
                    test(&builder(workers).inline(inline).build().unwrap());
                    test(&builder(workers).inline(inline).build_with::<StackEngine>().unwrap());
                }
            }
        });
    };
}

/// An error that is no text.
#[derive(Debug, PartialEq)]
struct Wrong(u32);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrong by {}", self.0)
    }
}

impl std::error::Error for Wrong {}

/// Fails quietly: a panic without the message that the hook would print.
fn fail(text: &str) {
    resume_unwind(Box::new(text.to_owned()));
}

/// What a body returned that failed.
fn returned<X: std::error::Error + 'static>(error: &Error) -> &X {
    assert_eq!(error.kind(), &Kind::Failed);
    error.source().and_then(|source| source.downcast_ref()).expect("the body's own error")
}

#[test]
fn an_err_fails_its_task_and_poisons_what_it_writes() {
    everywhere!("an Err of a leaf", |rt| {
        let (a, b, c) = (Handle::new(1), Handle::unset(), Handle::new(3));
        let error = rt.scope(|s| {
            let good = s.try_spawn((), |()| Ok::<_, Wrong>(String::from("value")));
            assert_eq!(s.wait(good).unwrap(), "value");
            let bad = s.task("bad").index([7]).try_spawn((a.inout(), b.write(), c.read()), |(a, _unset, _)| {
                *a = 5;
                Err::<String, _>(Wrong(3))
            });
            let error = s.wait(bad).unwrap_err();
            assert_eq!(returned::<Wrong>(&error), &Wrong(3));
            assert_eq!(error.to_string(), "task `bad(7)` failed: wrong by 3");
            s.spawn(b.read(), |_: &i32| must_not_run());
        });
        assert_eq!(returned::<Wrong>(&error.unwrap_err()), &Wrong(3));
        for poisoned in [a.into_inner().unwrap_err(), b.into_inner().unwrap_err()] {
            assert!(matches!(poisoned.kind(), Kind::Poisoned { by } if by.to_string() == "bad(7)"));
            let cause = poisoned.source().and_then(|source| source.downcast_ref::<Error>());
            assert_eq!(returned::<Wrong>(cause.expect("the failure of `bad`")), &Wrong(3));
        }
        assert_eq!(c.into_inner().unwrap(), 3);
    });
}

#[test]
fn an_err_of_a_task_without_a_value() {
    everywhere!("an Err without a value", |rt| {
        let (a, ran) = (Handle::new(0), &AtomicUsize::new(0));
        let error = rt.scope(|s| {
            let joins: Vec<_> = (0..20)
                .map(|n| {
                    s.try_spawn(a.read(), move |_| {
                        ran.fetch_add(1, SeqCst);
                        format!("{}{n}", if n % 7 == 3 { "x" } else { "" }).parse::<u32>().map(|_| ())
                    })
                })
                .collect();
            let failed: Vec<_> = joins.into_iter().map(|join| s.wait(join).is_err()).collect();
            assert!(failed.iter().enumerate().all(|(n, failed)| *failed == (n % 7 == 3)), "{failed:?}");
        });
        returned::<ParseIntError>(&error.unwrap_err());
        assert_eq!(ran.load(SeqCst), 20);
    });
}

#[test]
fn an_err_of_a_parent() {
    everywhere!("an Err of a parent", |rt| {
        let (a, b) = (Handle::new(0), Handle::unset());
        let error = rt.scope(|s| {
            let good = s.try_nest(a.inout(), |s, a| {
                s.spawn(a.inout(), |a| *a += 1);
                Ok::<_, Wrong>(4)
            });
            assert_eq!(s.wait(good).unwrap(), 4);
            let bad = s.task("bad").try_nest((a.inout(), b.write()), |s, (a, b)| {
                s.spawn(a.inout(), |a| *a += 1);
                s.set(&b, 1);
                Err::<(), _>(Wrong(2))
            });
            assert_eq!(returned::<Wrong>(&s.wait(bad).unwrap_err()), &Wrong(2));
            // Tasks in short form, on a stack.
            s.task("quiet").try_nest(a.write(), |_, _| Err::<(), _>(Wrong(9)));
        });
        let error = error.unwrap_err();
        assert_eq!((returned::<Wrong>(&error), error.task().name()), (&Wrong(2), Some("bad")));
        assert!(a.into_inner().is_err());
        assert!(b.into_inner().is_err(), "what a failed body declared to write is poisoned, though it was set");
    });
}

#[test]
fn an_err_of_a_session() {
    limit(60, "an Err of a session", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).build().unwrap();
            let session = rt.session();
            let bad = session.try_spawn((), |()| Err::<u8, _>(Wrong(1)));
            let good = session.task("good").try_nest((), |s, ()| s.wait(s.try_spawn((), |()| Ok::<_, Wrong>(2))));
            assert_eq!(session.wait(good).unwrap(), 2);
            assert_eq!(returned::<Wrong>(&session.wait(bad).unwrap_err()), &Wrong(1));
            assert_eq!(returned::<Wrong>(&session.close().wait().unwrap_err()), &Wrong(1));
        }
    });
}

#[test]
fn a_result_of_spawn_is_a_value() {
    everywhere!("a Result as a value", |rt| {
        let value = rt.scope(|s| s.wait(s.spawn((), |()| Err::<(), _>(Wrong(1))))).unwrap().unwrap();
        assert_eq!(value, Err(Wrong(1)));
    });
}

#[test]
fn causes_come_before_their_consequences() {
    everywhere!("causes first", |rt| {
        let (spent, a) = (Handle::new(0), Handle::new(0));
        rt.scope(|s| drop(s.spawn(spent.inout(), |_| fail("earlier")))).unwrap_err();
        let error = rt.scope(|s| {
            s.spawn(spent.read(), |_| must_not_run());
            s.task("forgets").spawn(a.write(), |_unset| ());
            s.nest(spent.inout(), |_, _| must_not_run());
            s.task("cause").spawn((), |()| fail("cause"));
            s.task("later").try_spawn((), |()| Err::<(), _>(Wrong(1)));
        });
        assert_eq!(error.unwrap_err().task().name(), Some("cause"));
        // Consequences alone, in reference order.
        let error = rt.scope(|s| {
            s.task("reads").spawn(spent.read(), |_| must_not_run());
            s.task("forgets").spawn(a.write(), |_unset| ());
        });
        assert_eq!(error.unwrap_err().task().name(), Some("reads"));
    });
}

#[test]
fn a_body_comes_after_its_children() {
    everywhere!("a body after its children", |rt| {
        let spent = Handle::new(0);
        rt.scope(|s| drop(s.spawn(spent.inout(), |_| fail("earlier")))).unwrap_err();
        let name = |error: Result<(), Error>| error.unwrap_err().task().name();
        let child = rt.scope(|s| {
            s.task("parent").try_nest((), |s, ()| {
                s.task("child").spawn((), |()| fail("cause"));
                Err::<(), _>(Wrong(1))
            });
        });
        assert_eq!(name(child), Some("child"));
        let own = rt.scope(|s| {
            s.task("parent").try_nest(spent.read(), |s, spent| {
                s.task("child").spawn(spent.read(), |_| must_not_run());
                Err::<(), _>(Wrong(1))
            });
        });
        assert_eq!(name(own), Some("parent"));
        // What it passes on of a child is no other failure.
        let passed_on = rt.scope(|s| {
            s.task("parent")
                .try_nest(spent.read(), |s, spent| s.wait(s.task("child").spawn(spent.read(), |_| must_not_run())));
            s.task("later").spawn((), |()| fail("cause"));
        });
        assert_eq!(name(passed_on), Some("later"));
    });
}

/// What a closure of `try_scope` returns.
#[derive(Debug)]
enum Mine {
    Own,
    Task(Error),
}

impl From<Error> for Mine {
    fn from(error: Error) -> Self {
        Mine::Task(error)
    }
}

#[test]
fn the_closures_own_error() {
    everywhere!("the closure's own error", |rt| {
        let a = Handle::new(0);
        // After causes, wherever they are.
        let first: Result<(), Mine> = rt.try_scope(|s| {
            s.task("cause").try_spawn((), |()| Err::<(), _>("no"));
            Err(Mine::Own)
        });
        assert!(matches!(&first, Err(Mine::Task(error)) if error.task().name() == Some("cause")), "{first:?}");
        // Before consequences.
        let second: Result<(), Mine> = rt.try_scope(|s| {
            s.spawn(a.write(), |_unset| ());
            Err(Mine::Own)
        });
        assert!(matches!(second, Err(Mine::Own)), "{second:?}");
        let third: Result<(), Mine> = rt.try_scope(|s| {
            s.cancel_token().cancel();
            s.spawn((), |()| must_not_run());
            Err(Mine::Own)
        });
        assert!(matches!(third, Err(Mine::Own)), "{third:?}");
        let fourth: Result<(), Mine> = rt.try_scope(|s| {
            s.cancel_token().cancel();
            Ok(())
        });
        assert!(matches!(fourth, Err(Mine::Task(error)) if error.kind() == &Kind::Cancelled));
    });
}

#[test]
fn the_first_failure_stops_the_scope() {
    everywhere!("fail fast", |rt| {
        let (a, ran, failed) = (Handle::new(0), AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let error = rt.scope(|s| {
            s.cancel_on_failure(true);
            let first = s.task("first").try_spawn(a.inout(), |_| Err::<(), _>(Wrong(1)));
            assert!(s.wait(first).is_err());
            for _ in 0..50 {
                s.spawn((), |()| must_not_run());
                s.nest(a.write(), |_, _| must_not_run());
            }
        });
        assert_eq!(returned::<Wrong>(&error.unwrap_err()), &Wrong(1));
        // Of those that happened, the first in reference order.
        let error = rt.scope(|s| {
            s.cancel_on_failure(true);
            for n in 0..50 {
                let failed = &failed;
                s.task("any").index([n]).spawn((), move |()| {
                    failed.fetch_min(n, SeqCst);
                    fail("one of some")
                });
            }
        });
        let error = error.unwrap_err();
        let first = u32::try_from(failed.into_inner()).expect("a task has failed");
        assert_eq!((error.task().name(), error.task().indices()), (Some("any"), &[first][..]));
        // One that has happened before.
        let error = rt.scope(|s| {
            assert!(s.wait(s.spawn((), |()| fail("cause"))).is_err());
            s.cancel_on_failure(true);
            s.spawn((), |()| must_not_run());
            s.wait(s.spawn((), |()| must_not_run())).unwrap_err()
        });
        assert_eq!(error.unwrap_err().kind(), &Kind::Panicked("cause".into()));
        // It does not by default, nor if that was taken back.
        let error = rt.scope(|s| {
            s.cancel_on_failure(true);
            s.cancel_on_failure(false);
            s.spawn((), |()| fail("cause"));
            (0..5).for_each(|_| drop(s.spawn((), |()| ran.fetch_add(1, SeqCst))));
        });
        assert_eq!(error.unwrap_err().kind(), &Kind::Panicked("cause".into()));
        assert_eq!(ran.into_inner(), 5);
    });
}

#[test]
fn a_failure_below_stops_the_scope_around() {
    everywhere!("fail fast from below", |rt| {
        let (a, b) = (Handle::new(0), Handle::new(0));
        let error = rt.scope(|s| {
            s.cancel_on_failure(true);
            s.nest((a.inout(), b.inout()), |s, (a, _)| {
                assert!(s.wait(s.task("below").spawn(a.inout(), |_| fail("cause"))).is_err());
                // In the same scope, and in others.
                s.spawn((), |()| must_not_run());
                s.nest((), |_, ()| must_not_run());
            });
            // It reads nothing that has failed.
            s.spawn(b.inout(), |_| must_not_run());
        });
        assert_eq!(error.unwrap_err().task().name(), Some("below"));
    });
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

fn is_bomb(error: &Error, name: &str) {
    assert_eq!(error.kind(), &Kind::Panicked("bomb".into()));
    assert_eq!(error.task().name(), Some(name));
}

/// The value of a task is dropped with its join: at its spawn, while it waits, or when it is done.
#[test]
fn a_drop_of_a_value_that_panics_fails_the_scope() {
    everywhere!("joins with bombs", |rt| {
        let a = Handle::new(0);
        let error = rt.scope(|s| drop(s.task("at once").spawn((), |()| Bomb)));
        is_bomb(&error.unwrap_err(), "at once");
        let error = rt.scope(|s| {
            s.nest(a.inout(), |_, _| thread::yield_now());
            drop(s.task("waits").spawn(a.read(), |_| Bomb));
            drop(s.task("later").spawn(a.read(), |_| Bomb));
        });
        is_bomb(&error.unwrap_err(), "waits");
        let error = rt.scope(|s| {
            let join = s.task("done").nest(a.read(), |_, _| Bomb);
            s.wait(s.spawn(a.inout(), |_| ())).unwrap();
            assert!(join.is_done());
            drop(join);
        });
        is_bomb(&error.unwrap_err(), "done");
        // In a scope below, the parent fails with it.
        let error = rt.scope(|s| {
            let parent = s.nest(a.inout(), |s, a| drop(s.task("below").spawn(a.inout(), |_| Bomb)));
            is_bomb(&s.wait(parent).unwrap_err(), "below");
        });
        is_bomb(&error.unwrap_err(), "below");
        assert_eq!(a.into_inner().unwrap(), 0, "what the tasks did stands");
    });
}

#[test]
fn a_drop_of_a_sessions_value_that_panics_fails_the_session() {
    limit(60, "session joins with bombs", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).build().unwrap();
            let session = rt.session();
            drop(session.task("early").spawn((), |()| Bomb));
            is_bomb(&session.close().wait().unwrap_err(), "early");
            let session = rt.session();
            let join = session.task("done").spawn((), |()| Bomb);
            while !join.is_done() {
                thread::yield_now();
            }
            drop(join);
            is_bomb(&session.close().wait().unwrap_err(), "done");
        }
    });
}

/// A join learns of its task's failure, whatever became of the other failures meanwhile.
#[test]
fn a_join_that_is_kept_learns_of_its_failure() {
    everywhere!("kept joins", |rt| {
        let a = Handle::new(0);
        let error = rt.scope(|s| {
            let (mut kept, mut last) = (Vec::new(), None);
            for n in 0..sized(2_000, 10_000) {
                let fails = move |_: &i32| if n % 3 == 0 { Err(Wrong(n as u32)) } else { Ok(()) };
                let join = s.try_spawn(a.read(), fails);
                match n % 500 {
                    499 => kept.push((n, join)),
                    _ => last = Some((n, join)),
                }
            }
            for (n, join) in kept.into_iter().chain(last) {
                match s.wait(join) {
                    Ok(()) => assert_ne!(n % 3, 0),
                    Err(error) => assert_eq!(returned::<Wrong>(&error), &Wrong(n as u32)),
                }
            }
        });
        assert_eq!(returned::<Wrong>(&error.unwrap_err()), &Wrong(0));
    });
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack keeps failures until the scope ends")]
fn failures_are_not_remembered() {
    // Sanitizers keep freed memory back, or a shadow of it.
    if cfg!(any(millpond_asan, millpond_tsan)) {
        return;
    }
    limit(120, "memory of failures", || alone("errors::failures_for_a_while", |_| false));
}

/// Tasks of one scope that fail, are poisoned and are cancelled.
fn failing<'s, S: Spawn<'s>>(s: &S, a: &Handle<usize, S::Brand>, tasks: usize) {
    for n in 0..tasks {
        s.try_spawn((), move |()| Err::<(), _>(format!("{n} {}", "x".repeat(100))));
        s.spawn(a.inout(), |_| fail(&"y".repeat(100)));
        s.spawn(a.read(), |_| must_not_run());
        s.nest(a.inout(), |_, _| must_not_run());
        let value = s.try_spawn((), |()| Err::<usize, _>("z".repeat(100)));
        match n % 4 {
            0 => assert!(s.wait(value).is_err()),
            _ => drop(value),
        }
        if n % 64 == 0 {
            s.set(a, n);
            assert!(s.wait(s.spawn(a.inout(), |_| fail("a"))).is_err());
        }
    }
}

fn grows_by(rt: &Runtime, tasks: usize) -> usize {
    let a = Handle::new(0);
    let mut grown = 0;
    let error = rt.scope(|s| {
        failing(s, &a, tasks);
        let before = resident_kib();
        failing(s, &a, tasks);
        s.cancel_token().cancel();
        (0..5 * tasks).for_each(|_| drop(s.spawn(a.inout(), |_| must_not_run())));
        grown = resident_kib().saturating_sub(before);
    });
    assert_eq!(error.unwrap_err().kind(), &Kind::Failed);
    grown
}

#[test]
#[ignore = "run by `failures_are_not_remembered`, in a process of its own"]
fn failures_for_a_while() {
    limit(100, "a while of failures", || {
        // Each failure has cost 160 bytes, and its text.
        let tasks = sized(10_000, 50_000);
        let most_kib = (tasks * 5 * 40) >> 10;
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Auto)] {
            let rt = builder(workers).window(64).inline(inline).build().unwrap();
            let grown = grows_by(&rt, tasks);
            assert!(grown < most_kib, "{grown} KiB more on {workers} workers, {inline:?}");
        }
        let rt = builder(2).build().unwrap();
        let (session, a) = (rt.session(), Handle::new(0));
        failing(&session, &a, tasks);
        let before = resident_kib();
        failing(&session, &a, tasks);
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < most_kib, "{grown} KiB more in a session");
        session.close().wait().unwrap_err();
    });
}
