//! Many joins at once: values in order, one error, and no task left behind.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;

use crate::common::{builder, limit, runtime, silence_expected_panics};
use crate::conformance::on_every_row;
use millpond::{Error, Handle, Inline, Kind, Runtime, SessionJoin, Spawn};

/// Spawns the tasks from an iterator, in any scope.
fn squares<'s, S: Spawn<'s>>(s: &S, n: u64) -> Result<Vec<u64>, Error> {
    s.wait_all((0..n).map(|i| s.spawn((), move |()| i * i)))
}

#[test]
fn values_come_in_the_order_of_the_joins() {
    for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (8, Inline::Always)] {
        on_every_row!(60, "wait_all", builder(workers).inline(inline), rt => {
            let expected: Vec<u64> = (0..50).map(|i| i * i).collect();
            let total = Handle::new(0);
            let both = rt.scope(|s| {
                let parent = s.nest(total.inout(), |s, total| {
                    let parts = squares(s, 50).unwrap();
                    // Parents and values that wait for each other.
                    let joins: Vec<_> = (0..3).map(|_| s.nest(total.inout(), |s, total| {
                        s.spawn(total.inout(), |total| *total += 1);
                    })).collect();
                    assert_eq!(s.wait_all(joins).unwrap(), [(); 3]);
                    parts
                });
                (squares(s, 50), s.wait(parent))
            });
            let (outer, inner) = both.unwrap();
            assert_eq!((outer.unwrap(), inner.unwrap()), (expected.clone(), expected.clone()));
            assert_eq!(total.into_inner().unwrap(), 3);
            let session = rt.session();
            assert_eq!(squares(&session, 50).unwrap(), expected);
            let joins = (0..50).map(|i: u64| session.spawn((), move |()| i * i));
            assert_eq!(session.block_on(SessionJoin::all(joins)).unwrap(), expected);
            session.close().wait().unwrap();
        });
    }
}

#[test]
fn no_joins_are_no_values() {
    limit(20, "no joins", || {
        let rt = runtime(2);
        let none = rt.scope(|s| s.wait_all((0..0).map(|_| s.spawn((), |()| 0)))).unwrap();
        assert_eq!(none.unwrap(), []);
        let session = rt.session();
        assert_eq!(session.block_on(SessionJoin::<u8>::all([])).unwrap(), []);
    });
}

/// In the sequence, a consequence comes first, then the cause, then another cause.
#[test]
fn the_first_cause_is_the_error() {
    silence_expected_panics();
    on_every_row!(60, "the first cause", builder(2), rt => {
        let (a, ran) = (Handle::new(0), AtomicUsize::new(0));
        let result = rt.scope(|s| {
            let cause = s.task("cause").spawn(a.inout(), |_| resume_unwind(Box::new("expected")));
            let poisoned = s.task("poisoned").spawn(a.read(), |_| ());
            let other = s.task("other").spawn((), |()| resume_unwind(Box::new("expected")));
            let good = s.spawn((), |()| _ = ran.fetch_add(1, Relaxed));
            let error = s.wait_all([poisoned, other, good, cause]).unwrap_err();
            assert_eq!(error.task().name(), Some("other"), "the first cause among the joins");
        });
        // The scope uses its own order.
        assert_eq!(result.unwrap_err().task().name(), Some("cause"));
        assert_eq!(ran.into_inner(), 1);
        let session = rt.session();
        let fail = |name| session.task(name).try_spawn((), |()| Err::<(), _>("no"));
        let b = Handle::new(0);
        let lost = session.try_spawn(b.inout(), |_| Err::<(), _>("no"));
        let poisoned = session.spawn(b.read(), |_| ());
        let joins = [poisoned, fail("first"), fail("second"), lost];
        let error = session.block_on(SessionJoin::all(joins)).unwrap_err();
        assert_eq!((error.task().name(), error.kind()), (Some("first"), &Kind::Failed));
        let error = session.close().wait().unwrap_err();
        assert_eq!(error.kind(), &Kind::Failed);
    });
}

#[test]
fn only_consequences_give_the_first_of_them() {
    limit(20, "consequences", || {
        for workers in [1, 2] {
            let (rt, a) = (runtime(workers), Handle::new(0));
            let error = rt.scope(|s| {
                s.try_spawn(a.inout(), |_| Err::<(), _>("no"));
                let joins = ["one", "two"].map(|name| s.task(name).spawn(a.read(), |_| ()));
                let error = s.wait_all(joins).unwrap_err();
                assert!(matches!(error.kind(), Kind::Poisoned { .. }));
                assert_eq!(error.task().name(), Some("one"));
            });
            assert_eq!(error.unwrap_err().kind(), &Kind::Failed, "the scope has the cause");
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            let first = rt.session();
            first.cancel_token().cancel();
            let joins = ["one", "two"].map(|name| first.task(name).spawn((), |()| ()));
            let error = first.wait_all(joins).unwrap_err();
            assert_eq!((error.task().name(), error.kind()), (Some("one"), &Kind::Cancelled));
        }
    });
}

/// The values of the others are dropped, and all tasks have ended.
#[test]
fn a_failure_leaves_no_task_and_no_value() {
    limit(60, "nothing is left", || {
        for inline in [Inline::Never, Inline::Always] {
            let rt = builder(2).inline(inline).build().unwrap();
            let live = Arc::new(());
            let result = rt.scope(|s| {
                let value = |n: usize| {
                    let live = live.clone();
                    s.try_spawn((), move |()| if n == 7 { Err("no") } else { Ok(live) })
                };
                assert!(s.wait_all((0..20).map(value)).is_err());
                assert_eq!(Arc::strong_count(&live), 1);
            });
            assert_eq!(result.unwrap_err().kind(), &Kind::Failed);
        }
    });
}

/// The future borrows nothing: it may outlive the iterator and the session, and move between
/// threads.
#[test]
fn a_future_of_all_joins_goes_to_another_thread() {
    limit(20, "to another thread", || {
        let rt = runtime(2);
        let session = rt.session();
        let (senders, ends): (Vec<_>, Vec<_>) = (0..10).map(|_| channel::<usize>()).unzip();
        let all = SessionJoin::all(ends.into_iter().map(|end| session.spawn((), move |()| end.recv().unwrap())));
        session.detach();
        let elsewhere = thread::spawn(move || Runtime::new().unwrap().scope(|s| s.block_on(all)).unwrap());
        // The last task ends first, if there are enough workers.
        senders.iter().enumerate().rev().for_each(|(n, sender)| sender.send(n).unwrap());
        assert_eq!(elsewhere.join().unwrap().unwrap(), (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn dropping_the_future_cancels_nothing() {
    limit(20, "dropped joins", || {
        let (rt, ran) = (runtime(2), Arc::new(AtomicUsize::new(0)));
        let session = rt.session();
        let count = || {
            let ran = ran.clone();
            session.spawn((), move |()| ran.fetch_add(1, Relaxed))
        };
        drop(SessionJoin::all((0..100).map(|_| count())));
        session.close().wait().unwrap();
        assert_eq!(ran.load(Relaxed), 100);
    });
}
