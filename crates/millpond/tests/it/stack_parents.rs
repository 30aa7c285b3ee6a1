//! Parents on the dataflow stack that no frame holds: pending parents and those of sessions.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::common::{limit, on_stack as runtime};
use millpond::{Handle, Spawn};

/// Returns when `all` bodies have started. They run at the same time, or never end.
fn meet(begun: &AtomicUsize, all: usize) {
    begun.fetch_add(1, Relaxed);
    while begun.load(Relaxed) < all {
        thread::yield_now();
    }
}

/// Only this scheme does so. A child is next in the stack, so it runs when the body is over.
#[test]
fn a_pending_parents_tasks_are_in_a_frame() {
    limit(20, "pending parents, one worker", || {
        let (rt, over, children) = (runtime(1), AtomicBool::new(false), AtomicUsize::new(0));
        rt.scope(|s| {
            let pending = s.external().pending_nest(|s| {
                s.spawn((), |()| {
                    assert!(over.load(Relaxed), "a child ran before its parent's body was over");
                    children.fetch_add(1, Relaxed);
                });
                over.store(true, Relaxed);
            });
            let precondition = pending.hold();
            drop(pending);
            precondition.satisfy();
        })
        .unwrap();
        assert_eq!(children.into_inner(), 1);
    });
}

#[test]
fn a_pending_parents_stack_is_a_victim() {
    limit(20, "pending parents, whose tasks run at once", || {
        let rt = runtime(3);
        for _ in 0..50 {
            let begun = AtomicUsize::new(0);
            rt.scope(|s| {
                drop(s.external().pending_nest(|s| {
                    for _ in 0..2 {
                        s.spawn((), |()| meet(&begun, 2));
                    }
                }));
            })
            .unwrap();
        }
    });
}

/// Another thread spawns trees of tasks in reverse order. Each tree has its own data.
#[test]
fn pending_parents_from_elsewhere() {
    fn tree<'s, S: Spawn<'s>>(s: &S, levels: u32, leaves: &'s AtomicUsize) {
        if levels == 0 {
            s.spawn((), |()| _ = leaves.fetch_add(1, Relaxed));
            return;
        }
        let x = s.unset();
        s.spawn(x.write(), move |x| x.set(levels));
        for _ in 0..2 {
            s.nest(x.read(), move |s, x| {
                s.spawn(x.read(), move |&x| assert_eq!(x, levels));
                tree(s, levels - 1, leaves);
            });
        }
    }
    limit(60, "trees below pending parents", || {
        for workers in [1, 2, 3] {
            let (rt, leaves) = (runtime(workers), &AtomicUsize::new(0));
            rt.scope(|s| {
                let mut held = Vec::new();
                for _ in 0..20 {
                    let pending = s.external().pending_nest(move |s| tree(s, 5, leaves));
                    held.push(pending.hold());
                }
                thread::scope(|threads| {
                    let satisfy = || held.into_iter().rev().for_each(|precondition| precondition.satisfy());
                    threads.spawn(satisfy).join().unwrap();
                });
            })
            .unwrap();
            assert_eq!(leaves.load(Relaxed), 20 * 32, "{workers} workers");
        }
    });
}

#[test]
fn pending_parents_that_fail() {
    limit(20, "pending parents that fail", || {
        for workers in [1, 2] {
            let (rt, after) = (runtime(workers), AtomicUsize::new(0));
            let failed = rt.scope(|s| {
                drop(s.external().task("outer").pending_nest(|s| {
                    let x = s.unset::<u32>();
                    s.task("inner").spawn(x.write(), |_| panic!("no value"));
                    s.spawn(x.read(), |_| _ = after.fetch_add(1, Relaxed));
                }));
            });
            let text = failed.unwrap_err().to_string();
            assert!(text.contains("`inner`") && text.contains("no value"), "{text}");
            assert_eq!(after.into_inner(), 0, "a task ran whose input was not written");
            rt.scope(|s| _ = s.spawn((), |()| ())).unwrap();
        }
    });
}

/// The parents are ordered among the session's tasks. Their own tasks are ordered in frames.
#[test]
fn parents_of_a_session() {
    limit(60, "parents of a session", || {
        for workers in [1, 2, 3] {
            let (rt, x) = (runtime(workers), Handle::new(Vec::new()));
            let session = rt.session();
            for n in 0..200 {
                session.spawn(x.inout(), move |x: &mut Vec<u32>| x.push(3 * n));
                session.nest(x.inout(), move |s, x| {
                    s.spawn(x.inout(), move |x| x.push(3 * n + 1));
                    s.nest(x.inout(), move |s, x| {
                        s.spawn(x.inout(), move |x| x.push(3 * n + 2));
                        s.spawn(x.read(), move |x| assert_eq!(x.len() as u32, 3 * n + 3));
                    });
                });
            }
            session.close().wait().unwrap();
            assert!(x.into_inner().unwrap().into_iter().eq(0..600), "{workers} workers");
        }
    });
}
