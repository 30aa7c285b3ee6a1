//! Dumps of whole programs: with many tasks, no tasks, failing tasks, several runtimes and many
//! callers.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::thread;

use millpond::record::Recorder;
use millpond::record::dump::State;
use millpond::{Handle, Inline, Spawn};

use super::dumping;
use super::latch::{empty, find};
use crate::common::{builder, join_all, limit, must_not_run, runtime};

#[test]
fn halves_that_never_run() {
    limit(20, "half of a join", || {
        let rt = dumping(1);
        let panics = || resume_unwind(Box::new("quiet"));
        let joins = || -> ((), ()) { millpond::join(panics, || must_not_run()) };
        assert!(catch_unwind(AssertUnwindSafe(|| rt.scope(|_| joins()))).is_err());
        empty(&rt);
        rt.scope(|s| drop(s.spawn((), |()| joins().0))).unwrap_err();
        empty(&rt);
    });
}

#[test]
fn tasks_that_do_not_run() {
    limit(20, "tasks that do not run", || {
        let (rt, a, b) = (dumping(2), Handle::new(0), Handle::<i32>::unset());
        for cancel in [false, true] {
            rt.scope(|s| {
                s.task("twice").spawn((a.read(), a.inout(), a.read()), |_| ());
                s.task("never written").nest(b.read(), |_, _| ());
                s.task("fails").spawn(a.inout(), |_| resume_unwind(Box::new("quiet")));
                s.task("poisoned").nest((a.read(), a.read()), |_, _| ());
                drop(s.external().task("abandoned").pending(|| ()).hold());
                if cancel {
                    s.cancel_token().cancel();
                }
                s.task("last").nest(a.read(), |_, _| ());
            })
            .unwrap_err();
            empty(&rt);
        }
    });
}

#[test]
fn dumps_within_tasks() {
    limit(20, "dumps within tasks", || {
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Always)] {
            let rt = builder(workers).inline(inline).dumps(true).build().unwrap();
            let rt = &rt;
            rt.scope(|s| {
                s.task("parent").nest((), move |s, ()| {
                    let leaf = s.task("leaf").spawn((), move |()| {
                        let dump = rt.dump();
                        assert!(matches!(find(&dump, "leaf").state, State::Running { .. }), "{dump}");
                        assert!(!matches!(find(&dump, "parent").state, State::Ended { .. }), "{dump}");
                    });
                    s.wait(leaf).unwrap();
                });
            })
            .unwrap();
            empty(rt);
        }
    });
}

#[test]
fn many_are_counted_first() {
    limit(20, "many", || {
        let (rt, a) = (dumping(1), Handle::new(0));
        rt.scope(|s| {
            s.task("first").nest(a.inout(), |_, _| ());
            for i in 0..300 {
                s.task("look").index([i]).spawn(a.read(), |_| ());
            }
            let (dump, text) = (rt.dump(), rt.dump().to_string());
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(dump.unfinished.len(), 302);
            assert_eq!(lines[0], "millpond: 302 unfinished; 1 worker, tasks run by each: 0");
            assert_eq!(lines[1], "300 × look: waits for data");
            assert!(lines.contains(&"1 × first: is ready: no worker has taken it"), "{text}");
            // The closure is running, so the dump shows it.
            assert_eq!(
                (lines[4], *lines.last().unwrap()),
                (&*dump.unfinished[0].label.to_string(), "... and 202 more")
            );
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
fn a_runtime_that_keeps_no_account() {
    limit(20, "no account", || {
        let rt = runtime(2);
        rt.scope(|s| {
            s.spawn((), |()| ());
            let dump = rt.dump();
            assert!(!dump.kept && dump.unfinished.is_empty());
            let text = dump.to_string();
            assert!(text.contains("`Runtime::builder().dumps(true)`; 2 workers, tasks run by each: "), "{text}");
            assert_eq!(text.lines().count(), 1);
        })
        .unwrap();
    });
}

#[test]
fn runtimes_that_share_a_recorder() {
    limit(20, "a shared recorder", || {
        let recorder = Recorder::new();
        let builder = builder(1).inline(Inline::Never).recorder(&recorder).dumps(true);
        let (one, other) = (builder.clone().build().unwrap(), builder.build().unwrap());
        for _ in 0..2 {
            one.scope(|s| {
                s.task("mine").spawn((), |()| ());
                other.scope(|s| {
                    s.task("theirs").spawn((), |()| ());
                    assert_eq!((one.dump().unfinished.len(), other.dump().unfinished.len()), (2, 2));
                    find(&one.dump(), "mine");
                    find(&other.dump(), "theirs");
                })
            })
            .unwrap()
            .unwrap();
            empty(&one);
            empty(&other);
        }
    });
}

#[test]
fn callers_beyond_the_seats() {
    limit(20, "annexes", || {
        let (rt, inside) = (dumping(1), Barrier::new(8));
        thread::scope(|threads| {
            let callers = (0..8).map(|_| {
                threads.spawn(|| {
                    rt.scope(|s| {
                        s.task("held").spawn((), |()| ());
                        inside.wait();
                        assert_eq!(rt.dump().unfinished.len(), 16);
                        inside.wait();
                    })
                    .unwrap();
                })
            });
            join_all(callers.collect());
        });
        empty(&rt);
    });
}
