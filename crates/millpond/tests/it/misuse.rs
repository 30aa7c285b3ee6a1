//! Misuse that types cannot prevent. The task fails with an error that names the cause and the
//! place. The runtime neither panics nor hangs.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use crate::common::{builder, limit, must_not_run, runtime};
use millpond::{Error, Handle, Inline, Kind, Runtime, Spawn, Sum};

/// Every way in which a leaf may start: at its spawn or through the pool, alone or with other
/// tasks.
fn runtimes() -> Vec<Runtime> {
    let inlines = [Inline::Auto, Inline::Never, Inline::Always];
    let build = |workers, inline| builder(workers).inline(inline).build().unwrap();
    [1, 2, 8].into_iter().flat_map(|w| inlines.map(|inline| build(w, inline))).collect()
}

fn poisoned_by(error: &Error) -> String {
    match error.kind() {
        Kind::Poisoned { by } => by.to_string(),
        other => panic!("not poisoned: {other:?}"),
    }
}

#[test]
fn duplicate_names_both_places_in_either_order() {
    limit(20, "duplicate", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(1), Handle::new(2));
            let error = rt.scope(|s| {
                s.task("twice").spawn((b.read(), a.read(), a.inout()), |_| must_not_run());
            });
            let error = error.unwrap_err();
            assert_eq!(error.kind(), &Kind::Duplicate { args: (1, 2) });
            assert_eq!(
                error.to_string(),
                "task `twice` names one handle twice (accesses 1 and 2): declare it once, with the stronger right"
            );
            let error = rt.scope(|s| {
                s.task("again").spawn((b.inout(), b.read()), |_| must_not_run());
            });
            assert_eq!(error.unwrap_err().kind(), &Kind::Duplicate { args: (0, 1) });
            assert_eq!(poisoned_by(&a.into_inner().unwrap_err()), "twice");
            assert_eq!(poisoned_by(&b.into_inner().unwrap_err()), "again");
        }
    });
}

#[test]
fn one_task_reads_a_handle_several_times() {
    limit(20, "repeated reads", || {
        for rt in runtimes() {
            let (a, b, c) = (Handle::new(1), Handle::unset(), Handle::new(5));
            let many = (0..100).map(|_| a.read()).collect::<Vec<_>>();
            rt.scope(|s| {
                s.spawn((a.read(), a.read(), b.write()), |(x, y, b)| b.set(x + y));
                s.spawn((many, c.read(), b.inout(), c.read()), |(many, c, b, same)| {
                    assert!(std::ptr::eq(c, same));
                    *b += many.into_iter().sum::<i32>() + c;
                });
                s.nest((a.read(), b.inout(), a.read()), |s, (x, b, y)| {
                    s.spawn((x.read(), y.read(), x.read(), b.inout()), |(x, y, z, b)| *b += x + y + z);
                });
                // Later tasks wait for both.
                s.spawn((a.inout(), c.inout()), |(a, c)| (*a, *c) = (7, 8));
            })
            .unwrap();
            assert_eq!((a.into_inner().unwrap(), b.into_inner().unwrap(), c.into_inner().unwrap()), (7, 110, 8));
        }
    });
}

#[test]
fn one_task_updates_a_handle_concurrently_several_times() {
    limit(20, "repeated concurrent accesses", || {
        for rt in runtimes() {
            let a = Handle::new(AtomicUsize::new(0));
            rt.scope(|s| {
                for _ in 0..10 {
                    s.spawn((a.concurrent(), a.concurrent()), |(a, b)| {
                        a.fetch_add(1, SeqCst);
                        b.fetch_add(1, SeqCst);
                    });
                    s.nest((a.concurrent(), a.concurrent()), |s, (a, b)| {
                        s.spawn((a.concurrent(), b.concurrent(), a.concurrent()), |(a, b, _)| {
                            a.fetch_add(1, SeqCst);
                            b.fetch_add(1, SeqCst);
                        });
                    });
                }
                s.spawn(a.inout(), |a| assert_eq!(*a.get_mut(), 40));
            })
            .unwrap();
        }
    });
}

#[test]
fn repeated_reads_and_another_duplicate() {
    limit(20, "repeated reads and a duplicate", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(1), Handle::new(2));
            let error = rt.scope(|s| {
                let accesses = (a.read(), b.read(), a.read(), b.read(), a.inout(), b.read());
                s.task("thrice").spawn(accesses, |_| must_not_run());
                s.spawn(b.inout(), |b| *b += 1);
            });
            assert_eq!(error.unwrap_err().kind(), &Kind::Duplicate { args: (0, 4) });
            assert_eq!(poisoned_by(&a.into_inner().unwrap_err()), "thrice");
            assert_eq!(b.into_inner().unwrap(), 3);
        }
    });
}

#[test]
fn duplicate_in_vecs_and_nested_tuples() {
    limit(20, "duplicate in vecs", || {
        for rt in runtimes() {
            let h: Vec<_> = (0..4).map(Handle::new).collect();
            let vec = |places: [usize; 3]| places.map(|i| h[i].inout()).into_iter().collect::<Vec<_>>();
            let error = rt.scope(|s| {
                s.spawn((h[3].read(), vec([0, 1, 0])), |_| must_not_run());
            });
            assert_eq!(error.unwrap_err().kind(), &Kind::Duplicate { args: (1, 3) });
            let error = rt.scope(|s| {
                s.spawn((h[1].write(), [(h[2].write(), h[1].read())]), |_| must_not_run());
            });
            assert_eq!(error.unwrap_err().kind(), &Kind::Duplicate { args: (0, 2) });
            let healthy = h.into_iter().map(|h| h.into_inner().is_ok()).collect::<Vec<_>>();
            assert_eq!(healthy, [false, false, false, true]);
        }
    });
}

#[test]
fn duplicate_of_every_pair_of_modes() {
    limit(20, "duplicate of every pair of modes", || {
        for rt in runtimes() {
            let a = Handle::new(1);
            macro_rules! pairs {
                ($($first:expr, $second:expr;)*) => {$(
                    let error = rt.scope(|s| {
                        s.spawn(($first, $second), |_| must_not_run());
                        s.set(&a, 1);
                    });
                    assert_eq!(error.unwrap_err().kind(), &Kind::Duplicate { args: (0, 1) });
                )*};
            }
            pairs! {
                a.write(), a.write(); a.write(), a.inout(); a.inout(), a.write();
                a.commutative(), a.commutative(); a.commutative(), a.read();
                a.reduce(Sum), a.reduce(Sum); a.reduce(Sum), a.inout(); a.inout(), a.reduce(Sum);
                a.concurrent(), a.read(); a.read(), a.concurrent();
            }
            assert_eq!(a.into_inner().unwrap(), 1);
        }
    });
}

#[test]
fn duplicate_in_a_parent_is_not_one_of_its_children() {
    limit(20, "duplicate in a parent", || {
        for rt in runtimes() {
            let a = Handle::new(0);
            let error = rt.scope(|s| {
                s.nest(a.inout(), |s, a| {
                    s.task("child").spawn((a.read(), a.inout()), |_| must_not_run());
                });
            });
            let error = error.unwrap_err();
            assert_eq!(error.kind(), &Kind::Duplicate { args: (0, 1) });
            assert_eq!(error.task().to_string(), "child");
            assert!(a.into_inner().is_err());
            // One handle, once in a parent and once in its child, is no duplicate.
            let a = Handle::new(0);
            rt.scope(|s| {
                s.nest(a.inout(), |s, a| {
                    s.spawn(a.inout(), |a| *a += 1);
                });
            })
            .unwrap();
            assert_eq!(a.into_inner().unwrap(), 1);
        }
    });
}

/// Runs `with` while a task holds `a`.
fn while_held(rt: &Runtime, a: &Handle<u32>, with: impl FnOnce()) {
    let (started, go_on) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|threads| {
        let other = threads.spawn(|| {
            rt.scope(|s| {
                s.spawn(a.inout(), |a| {
                    started.wait();
                    go_on.wait();
                    *a += 1;
                });
            })
            .unwrap();
        });
        started.wait();
        with();
        go_on.wait();
        other.join().expect("the other thread's scope succeeds");
    });
}

fn assert_busy(result: Result<(), Error>, arg: usize) {
    assert_eq!(result.unwrap_err().kind(), &Kind::Busy { arg });
}

#[test]
fn busy_from_another_thread_and_another_runtime() {
    limit(20, "busy from another thread", || {
        let (rt, other) = (runtime(2), runtime(1));
        let (a, b) = (Handle::new(0), Handle::new(5));
        while_held(&rt, &a, || {
            for rt in [&rt, &other] {
                let result = rt.scope(|s| {
                    s.task("intruder").spawn((b.write(), a.inout()), |_| must_not_run());
                });
                let text = "task `intruder` uses a handle that another scope is using (access 1)";
                assert_eq!(result.as_ref().unwrap_err().to_string(), text);
                assert_busy(result, 1);
                assert_busy(rt.scope(|s| s.set(&a, 7)), 0);
                let session = rt.session();
                session.spawn(a.read(), |_| must_not_run());
                assert_busy(session.close().wait(), 0);
            }
        });
        assert_eq!(a.into_inner().unwrap(), 1, "the task that held it continued undisturbed");
        assert!(b.into_inner().is_err(), "what the intruder would have written is poisoned");
    });
}

#[test]
fn busy_for_a_scope_in_the_body_of_a_task_that_holds_the_handle() {
    limit(20, "busy for a scope in a body", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            let a = Handle::new(0);
            rt.scope(|s| {
                s.spawn(a.inout(), |value| {
                    let inner = rt.scope(|s| {
                        s.spawn(a.inout(), |_| must_not_run());
                    });
                    assert_busy(inner, 0);
                    *value += 1;
                });
            })
            .unwrap();
            assert_eq!(a.into_inner().unwrap(), 1);
        }
    });
}

#[test]
fn busy_for_a_scope_in_the_body_of_a_leaf_that_runs_at_its_spawn() {
    limit(20, "busy for a scope in an inline leaf", || {
        for workers in [1, 2] {
            let rt = builder(workers).inline(Inline::Always).build().unwrap();
            let a = Handle::new(0);
            rt.scope(|s| {
                s.spawn(a.inout(), |value| {
                    let inner = rt.scope(|s| {
                        s.spawn(a.inout(), |value| *value += 100);
                    });
                    assert_busy(inner, 0);
                    *value += 1;
                });
            })
            .unwrap();
            assert_eq!(a.into_inner().unwrap(), 1);
        }
    });
}

#[test]
fn busy_for_a_scope_in_the_closure_of_another() {
    limit(20, "busy for a scope in a closure", || {
        let rt = builder(2).inline(Inline::Never).build().unwrap();
        let (a, free) = (Handle::new(0), Handle::new(0));
        let (open, release) = (AtomicBool::new(false), Barrier::new(2));
        rt.scope(|s| {
            s.spawn(a.inout(), |a| {
                open.store(true, SeqCst);
                release.wait();
                *a += 1;
            });
            s.spawn(free.inout(), |free| *free += 1);
            while !open.load(SeqCst) {
                thread::yield_now();
            }
            assert_busy(rt.scope(|s| drop(s.spawn(a.read(), |_| must_not_run()))), 0);
            release.wait();
        })
        .unwrap();
        // Between scopes, and between scopes in one closure, a handle may move freely.
        rt.scope(|s| {
            rt.scope(|s| drop(s.spawn(free.inout(), |free| *free += 1))).unwrap();
            s.spawn(free.inout(), |free| *free += 1);
        })
        .unwrap();
        assert_eq!((a.into_inner().unwrap(), free.into_inner().unwrap()), (1, 3));
    });
}

#[test]
fn busy_into_inner_and_get_mut() {
    limit(20, "busy into_inner", || {
        let rt = runtime(2);
        let (mut a, mut b) = (Handle::new(0), Handle::new(vec![1]));
        let go_on = Barrier::new(2);
        rt.scope(|s| {
            let a = &mut a;
            s.spawn(a.inout(), |a| {
                go_on.wait();
                *a += 1;
            });
            s.spawn(b.reduce(millpond::Append), |b| b.push(2));
            let error = a.get_mut().unwrap_err();
            assert_eq!(error.kind(), &Kind::Busy { arg: 0 });
            assert!(error.task().to_string().contains("misuse.rs:"), "{error}");
            assert_eq!(b.get_mut().unwrap_err().kind(), &Kind::Busy { arg: 0 });
            let dropped = Handle::new(String::from("kept until the last access"));
            let read = s.spawn((dropped.read(), a.read()), |(text, _)| text.len());
            assert_eq!(dropped.into_inner().unwrap_err().kind(), &Kind::Busy { arg: 0 });
            go_on.wait();
            assert_eq!(s.wait(read).unwrap(), 26);
        })
        .unwrap();
        *a.get_mut().unwrap() += 1;
        assert_eq!((a.into_inner().unwrap(), b.into_inner().unwrap()), (2, vec![1, 2]));
    });
}

#[test]
fn unwritten_names_the_access() {
    limit(20, "unwritten", || {
        for rt in runtimes() {
            let (a, b, c) = (Handle::new(1), Handle::new(2), Handle::unset());
            let error = rt
                .scope(|s| {
                    s.task("lazy").spawn((a.read(), b.write(), c.write()), |(a, b, _c)| b.set(*a));
                    s.task("reader").spawn(c.read(), |_: &i32| must_not_run());
                })
                .unwrap_err();
            assert_eq!(error.kind(), &Kind::Unwritten { arg: 2 });
            assert_eq!(error.to_string(), "task `lazy` ended without setting access 2, which it declared `write`");
            assert_eq!(a.into_inner().unwrap(), 1);
            assert_eq!(poisoned_by(&c.into_inner().unwrap_err()), "lazy");
            assert!(b.into_inner().is_err(), "a task that failed produced nothing");
        }
    });
}

#[test]
fn unwritten_by_a_parent() {
    limit(20, "unwritten by a parent", || {
        for rt in runtimes() {
            let (a, b) = (Handle::new(1), Handle::new(2));
            let error = rt
                .scope(|s| {
                    s.task("parent").nest((a.write(), b.write()), |s, (a, _b)| s.set(&a, 3));
                })
                .unwrap_err();
            assert_eq!(error.kind(), &Kind::Unwritten { arg: 1 });
            assert_eq!(a.into_inner().ok(), Some(3), "poison travels with versions, not with parents");
            assert!(b.into_inner().is_err());
        }
    });
}

#[test]
fn unwritten_by_a_parent_poisons() {
    limit(20, "unwritten by a parent poisons", || {
        for rt in runtimes() {
            let b = Handle::new(2);
            rt.scope(|s| drop(s.task("parent").nest(b.write(), |_, _| ()))).unwrap_err();
            assert_eq!(poisoned_by(&b.into_inner().unwrap_err()), "parent");
        }
    });
}

#[test]
fn never_written_names_the_access() {
    limit(20, "never written", || {
        for rt in runtimes() {
            let (a, mut b) = (Handle::new(1), Handle::<i32>::unset());
            let error = rt
                .scope(|s| {
                    s.task("early").spawn((a.inout(), b.read()), |_| must_not_run());
                    assert!(matches!(s.wait_on(&mut b).unwrap_err().kind(), Kind::NeverWritten { arg: 0 }));
                })
                .unwrap_err();
            assert_eq!(error.kind(), &Kind::NeverWritten { arg: 1 });
            assert_eq!(error.to_string(), "task `early` reads a handle that was never written (access 1)");
            assert_eq!(poisoned_by(&a.into_inner().unwrap_err()), "early");
            assert_eq!(b.get_mut().unwrap_err().kind(), &Kind::NeverWritten { arg: 0 });
            rt.scope(|s| drop(s.spawn(b.write(), |b| b.set(4)))).unwrap();
            assert_eq!(b.into_inner().unwrap(), 4);
        }
    });
}

#[test]
fn never_written_under_every_mode_that_reads() {
    limit(20, "never written, by mode", || {
        for rt in runtimes() {
            macro_rules! modes {
                ($($mode:ident($($arg:expr)?))*) => {$(
                    let a = Handle::<u32>::unset();
                    let result = rt.scope(|s| drop(s.spawn(a.$mode($($arg)?), |_| must_not_run())));
                    assert_eq!(result.unwrap_err().kind(), &Kind::NeverWritten { arg: 0 });
                    assert!(a.into_inner().is_err());
                )*};
            }
            modes!(read() inout() commutative() concurrent() reduce(Sum));
        }
    });
}
