//! The features of a runtime with all its parts: waits, nested scopes, sessions, external tasks,
//! failures and cancellation. Each test is short. The other tests of this folder are longer, and
//! use the default scheme.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use millpond::{Access, Engine, Error, Handle, Inline, Inout, Kind, Runtime, Spawn, Write};

use super::latch::{Latch, Opens};
use super::on_every_row;
use crate::common::{builder, join_all, must_not_run, sized};

/// Runs a test on every row of the star, with few and with many workers. Leaves run at their spawn
/// or not.
macro_rules! everywhere {
    ($test:expr, $rt:ident => $body:expr) => {
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (2, Inline::Never), (8, Inline::Always)] {
            on_every_row!(60, $test, builder(workers).inline(inline), $rt => $body);
        }
    };
}

fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, result: Access<'_, u64, Write, S::Brand>) {
    s.nest(result, move |s, result| {
        if n < 2 {
            return s.set(&result, n);
        }
        let (a, b) = (s.unset(), s.unset());
        fib(s, n - 1, a.write());
        fib(s, n - 2, b.write());
        s.spawn((a.read(), b.read(), result.write()), |(a, b, result)| result.set(a + b));
    });
}

/// Recurses down and adds. On the way back, it reads the value.
fn descend<'s, S: Spawn<'s>>(s: &S, depth: u64, from: u64, value: Access<'_, u64, Inout, S::Brand>) {
    s.nest(value, move |s, mut value| {
        s.spawn(value.inout(), |value| *value += 1);
        if depth > 1 {
            descend(s, depth - 1, from, value.inout());
        }
        s.spawn(value.commutative(), |value| *value += 1);
        // Each level down to this one adds 1. Each deeper level adds 3, and this level adds 1 more.
        assert_eq!(*s.wait_on(&mut value).unwrap(), (from - depth + 1) + 3 * (depth - 1) + 1);
        s.spawn(value.inout(), |value| *value += 1);
    });
}

#[test]
fn nested_scopes_and_waits() {
    everywhere!("nested scopes", rt => {
        let (number, mut value) = (Handle::unset(), Handle::new(0));
        let depth = sized(40, 400) as u64;
        rt.scope(|s| {
            fib(s, 12, number.write());
            descend(s, depth, depth, value.inout());
            assert_eq!(*s.wait_on(&mut value).unwrap(), 3 * depth);
            s.spawn(value.inout(), |value| *value += 1);
        })
        .unwrap();
        assert_eq!((number.into_inner().unwrap(), value.into_inner().unwrap()), (144, 3 * depth + 1));
    });
}

fn session<E: Engine>(rt: &Runtime<E>) {
    let (session, mut sum) = (rt.session(), Handle::new(0));
    let rounds = sized(50, 500);
    for round in 0..rounds {
        session.spawn(sum.inout(), |sum| *sum += 1);
        let reads: Vec<_> = (0..3).map(|_| session.spawn(sum.read(), |sum| *sum)).collect();
        session.nest(sum.inout(), |s, sum| drop(s.spawn(sum.commutative(), |sum| *sum += 1)));
        if round % 4 == 0 {
            assert_eq!(*session.wait_on(&mut sum).unwrap(), 2 * round + 2);
        }
        let reads: Vec<_> = reads.into_iter().map(|read| session.wait(read).unwrap()).collect();
        assert_eq!(reads, [2 * round + 1; 3]);
    }
    session.close().wait().unwrap();
    assert_eq!(sum.into_inner().unwrap(), 2 * rounds);
}

#[test]
fn sessions() {
    everywhere!("sessions", rt => session(rt));
}

/// Pending tasks with two preconditions each. A task on a datum satisfies one, and a thread
/// satisfies the other.
fn external_tasks<E: Engine>(rt: &Runtime<E>) {
    let (order, sum, met) = (Handle::new(0), Handle::new(0), AtomicUsize::new(0));
    let count = sized(50, 500);
    rt.scope(|s| {
        let mut outside = Vec::new();
        for i in 0..count {
            let pending = s.external().pending(|| _ = met.fetch_add(1, Relaxed));
            let (inside, other) = (pending.hold(), pending.hold());
            outside.push(other);
            s.spawn((order.inout(), sum.commutative()), move |(order, sum)| {
                assert_eq!(*order, i);
                (*order, *sum) = (*order + 1, *sum + 1);
                inside.satisfy();
            });
        }
        thread::scope(|threads| {
            join_all(vec![threads.spawn(move || outside.into_iter().for_each(|other| other.satisfy()))]);
        });
    })
    .unwrap();
    assert_eq!(met.into_inner(), count);
    assert_eq!((order.into_inner().unwrap(), sum.into_inner().unwrap()), (count, count));
}

#[test]
fn pending_tasks() {
    everywhere!("pending tasks", rt => external_tasks(rt));
}

/// A task fails after a latch opens, so every task that it poisons is still waiting. Tasks that do
/// not depend on the failure run.
fn poison<E: Engine>(rt: &Runtime<E>) {
    let data: Vec<_> = (0..4).map(Handle::new).collect();
    let (latch, ran) = (Latch::default(), AtomicUsize::new(0));
    let by_source = |error: &Error| matches!(error.kind(), Kind::Poisoned { by } if by.name() == Some("source"));
    let error = rt.scope(|s| {
        let opens = Opens(&latch);
        s.task("source").nest(data[0].inout(), |s, _data| {
            s.block_on(latch.opened());
            resume_unwind(Box::new("no"));
        });
        let mut poisoned = Vec::new();
        for _ in 0..10 {
            poisoned.push(s.spawn((data[0].read(), data[3].read()), |_| must_not_run()));
        }
        poisoned.push(s.spawn((data[0].read(), data[1].inout()), |_| must_not_run()));
        poisoned.push(s.spawn((data[1].commutative(), data[2].write()), |_| must_not_run()));
        s.spawn(data[3].inout(), |_| _ = ran.fetch_add(1, Relaxed));
        s.spawn(data[0].write(), |out| out.set(10));
        s.spawn((data[0].read(), data[3].inout()), |(a, b)| *b += *a);
        drop(opens);
        poisoned.into_iter().for_each(|join| assert!(by_source(&s.wait(join).unwrap_err())));
    });
    assert_eq!(error.unwrap_err().to_string(), "task `source` panicked: no");
    let values: Vec<_> = data.into_iter().map(|datum| datum.into_inner().ok()).collect();
    assert_eq!((values, ran.into_inner()), (vec![Some(10), None, None, Some(13)], 1));
}

#[test]
fn failures() {
    everywhere!("failures", rt => poison(rt));
}

/// Cancels a scope while tasks wait for data, for an exclusive access, and for another thread.
fn cancel<E: Engine>(rt: &Runtime<E>) {
    let (data, other, untouched) = (Handle::new(0), Handle::new(0), Handle::new(0));
    let (latch, ran) = (Latch::default(), AtomicUsize::new(0));
    let result = rt.scope(|s| {
        let opens = Opens(&latch);
        let pending = s.external().pending(|| must_not_run());
        let held = pending.hold();
        drop(pending);
        s.wait(s.spawn(untouched.inout(), |value| *value += 1)).unwrap();
        let first = s.nest((data.inout(), other.commutative()), |s, _held| {
            s.block_on(latch.opened());
            ran.fetch_add(1, Relaxed);
        });
        // When the scope is cancelled, `first` has started, or it never starts.
        for _ in 0..20 {
            s.spawn(data.read(), |_| must_not_run());
            s.spawn((data.inout(), other.commutative()), |_| must_not_run());
            s.nest((other.commutative(), data.concurrent()), |_, _| must_not_run());
        }
        s.cancel_token().cancel();
        drop(opens);
        held.satisfy();
        assert_eq!(s.wait(first).is_ok(), ran.load(Relaxed) == 1);
    });
    assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
    assert!(data.into_inner().is_err(), "what was to change it is cancelled");
    assert_eq!(untouched.into_inner().unwrap(), 1);
}

#[test]
fn cancellation() {
    everywhere!("cancellation", rt => cancel(rt));
}
