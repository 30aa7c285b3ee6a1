//! Handles that move between runtimes with different schemes, and such runtimes at the same time. A
//! scope that claims a handle starts with metadata of another scheme (`Meta`).

use std::thread;

use millpond::catalogue::{AnyRuntime, Names, SCHEMES};
use millpond::depend::Mode;
use millpond::{Engine, Handle, Kind, Runtime, Spawn, Sum, on_runtime};

use crate::common::{builder, join_all, limit, must_not_run, sized};

/// One runtime for each scheme.
fn runtimes(workers: usize) -> Vec<AnyRuntime> {
    let build =
        |scheme| AnyRuntime::build(builder(workers), Names { scheme, ..Names::default() }).expect("it has a row");
    SCHEMES.iter().map(|row| build(row.name)).collect()
}

/// Uses a datum in a mode. Returns the new value.
fn touch<'s, S: Spawn<'s>>(s: &S, datum: &Handle<i64, S::Brand>, mode: Mode, value: &mut i64) {
    let before = *value;
    match mode {
        Mode::Read => _ = s.spawn(datum.read(), move |value| assert_eq!(*value, before)),
        Mode::Write => {
            *value = 100;
            s.spawn(datum.write(), |out| out.set(100));
        }
        Mode::Inout => {
            *value += 1;
            s.spawn(datum.inout(), move |value| *value = before + 1);
        }
        Mode::Commutative => {
            *value += 2;
            s.spawn(datum.commutative(), |value| *value += 2);
        }
        Mode::Concurrent => _ = s.spawn(datum.concurrent(), move |value| assert_eq!(*value, before)),
        Mode::Reduce => {
            *value += 3;
            s.spawn(datum.reduce(Sum), |part| *part += 3);
        }
    }
}

/// Uses a datum in all modes. Repeats one of them several times, as the last one.
fn use_up_to<'s, S: Spawn<'s>>(s: &S, datum: &Handle<i64, S::Brand>, last: Mode, value: &mut i64) {
    Mode::ALL.iter().for_each(|&mode| touch(s, datum, mode, value));
    (0..3).for_each(|_| touch(s, datum, last, value));
}

fn use_in_a_scope(any: &AnyRuntime, datum: &Handle<i64>, last: Mode, value: &mut i64) {
    on_runtime!(any, rt => rt.scope(|s| use_up_to(s, datum, last, value))).unwrap();
}

/// From each scheme to each, after each mode.
#[test]
fn a_handle_goes_from_one_to_the_other() {
    limit(60, "from one to the other", || {
        for workers in [1, 2] {
            let (all, mut value) = (runtimes(workers), 0);
            let datum = Handle::new(value);
            for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
                for &last in Mode::ALL {
                    use_in_a_scope(from, &datum, last, &mut value);
                    // A second use at the same time. It must not wait for earlier uses.
                    on_runtime!(to, rt => rt.scope(|s| touch(s, &datum, last, &mut value))).unwrap();
                }
            }
            assert_eq!(datum.into_inner().unwrap(), value);
        }
    });
}

/// The same through sessions, which also claim handles, and through a nested scope in a closure.
#[test]
fn a_handle_goes_through_sessions_and_inner_scopes() {
    limit(60, "sessions and inner scopes", || {
        let (all, mut value) = (runtimes(2), 0);
        let datum = Handle::new(value);
        for (outer, inner) in all.iter().zip(all.iter().cycle().skip(1)) {
            on_runtime!(outer, rt => {
                let session = rt.session();
                use_up_to(&session, &datum, Mode::Read, &mut value);
                session.close().wait().unwrap();
            });
            let (datum, value) = (&datum, &mut value);
            on_runtime!(outer, rt => rt.scope(|s| {
                touch(s, datum, Mode::Inout, value);
                s.wait(s.spawn(datum.commutative(), |_| ())).unwrap();
                // Nothing is outstanding, so the inner scope may use it, and then the outer scope
                // again.
                use_in_a_scope(inner, datum, Mode::Concurrent, value);
                use_up_to(s, datum, Mode::Reduce, value);
            }))
            .unwrap();
        }
        assert_eq!(datum.into_inner().unwrap(), value);
    });
}

/// A datum that is poisoned on one runtime is poisoned on the next, until a `write` there.
#[test]
fn poison_goes_with_a_handle() {
    limit(60, "poison", || {
        let all = runtimes(2);
        let datum = Handle::new(0);
        for (from, to) in all.iter().zip(all.iter().cycle().skip(1)) {
            let fail = |_: &mut i64| std::panic::resume_unwind(Box::new("quiet"));
            on_runtime!(from, rt => rt.scope(|s| drop(s.task("bad").spawn(datum.inout(), fail)))).unwrap_err();
            let read = on_runtime!(to, rt => rt.scope(|s| drop(s.spawn(datum.read(), |_| must_not_run()))));
            assert!(matches!(read.unwrap_err().kind(), Kind::Poisoned { by } if by.name() == Some("bad")));
            on_runtime!(to, rt => rt.scope(|s| drop(s.spawn(datum.write(), |out| out.set(7))))).unwrap();
            let healed = on_runtime!(from, rt => rt.scope(|s| s.wait(s.spawn(datum.read(), |value| *value))));
            assert_eq!(healed.unwrap().unwrap(), 7);
        }
    });
}

/// Chains with readers between. Each task checks its position.
fn work<E: Engine>(rt: &Runtime<E>, tasks: usize) {
    let data: Vec<_> = (0..4).map(|_| Handle::new(0)).collect();
    rt.scope(|s| {
        for i in 0..tasks {
            let (a, b) = (&data[i % 4], &data[(i + 1) % 4]);
            s.spawn((a.inout(), b.read()), move |(a, b)| {
                assert!(*a == i / 4 && *b == (i + 1) / 4, "{i}: {a} {b}");
                *a += 1;
            });
        }
    })
    .unwrap();
}

#[test]
fn two_at_once() {
    limit(60, "two at once", || {
        let all = runtimes(2);
        let (all, tasks) = (&all, 4 * sized(500, 5_000));
        for at in 0..all.len() {
            thread::scope(|threads| {
                let one = |at: usize| threads.spawn(move || on_runtime!(&all[at % all.len()], rt => work(rt, tasks)));
                join_all(vec![one(at), one(at + 1)]);
            });
        }
    });
}

/// Bodies of one runtime open scopes on another, and wait for sessions of that runtime.
fn visit<E: Engine>(rt: &Runtime<E>, other: &Runtime) {
    let sum = Handle::new(0);
    rt.scope(|s| {
        for _ in 0..sized(20, 100) {
            s.nest(sum.commutative(), |s, sum| {
                s.spawn(sum.inout(), |sum| {
                    let inner = Handle::new(0);
                    other.scope(|s| (0..4).for_each(|_| drop(s.spawn(inner.inout(), |inner| *inner += 1)))).unwrap();
                    *sum += inner.into_inner().unwrap();
                });
            });
            s.nest(sum.commutative(), |s, mut sum| {
                let (session, inner) = (other.session(), Handle::new(1));
                session.spawn(inner.inout(), |inner| *inner += 1);
                let two = s.block_on(session.spawn(inner.read(), |inner| *inner)).unwrap();
                *s.wait_on(&mut sum).unwrap() += two;
                session.close().wait().unwrap();
            });
        }
    })
    .unwrap();
    assert_eq!(sum.into_inner().unwrap(), 6 * sized(20, 100));
}

#[test]
fn bodies_that_visit_another_runtime() {
    limit(60, "visits", || {
        for workers in [1, 2] {
            let all = runtimes(workers);
            let home: Runtime = builder(workers).build().unwrap();
            // Each scheme with the default one. All pairs would take too long to compile.
            all.iter().for_each(|any| on_runtime!(any, rt => visit(rt, &home)));
        }
    });
}
