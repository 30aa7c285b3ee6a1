//! Compact tasks of the dataflow stack with a name, or a `Vec` or `Option` of accesses. They behave
//! like any other task.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::common::{OnStack, builder, limit, must_not_run, on_stack as runtime, silence_expected_panics};
use millpond::internals::SpawnOptions;
use millpond::{Access, Handle, Inline, Inout, Kind, Root, Spawn, all};

/// Counts the captures that exist.
struct Live<'a>(&'a AtomicUsize);

impl<'a> Live<'a> {
    fn new(live: &'a AtomicUsize) -> Self {
        live.fetch_add(1, Relaxed);
        Live(live)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn failures_have_the_name() {
    silence_expected_panics();
    limit(20, "tasks that fail", || {
        for workers in [1, 2] {
            let (rt, x, y, live) = (runtime(workers), Handle::new(1), Handle::<u32>::unset(), AtomicUsize::new(0));
            let capture = || Live::new(&live);
            let panics = rt.scope(|s| {
                let live = capture();
                s.task("panics").index([4]).spawn(vec![x.inout()], move |_| {
                    let _live = live;
                    panic!("expected");
                });
            });
            assert_eq!(panics.unwrap_err().to_string(), "task `panics(4)` panicked: expected");
            let poisoned = rt.scope(|s| {
                let live = capture();
                s.task("poisoned").spawn((Some(x.read()), y.write()), move |_| {
                    let _live = live;
                    must_not_run()
                });
            });
            let poisoned = poisoned.unwrap_err();
            assert_eq!((poisoned.task().name(), poisoned.task().indices()), (Some("poisoned"), &[][..]));
            assert!(matches!(poisoned.kind(), Kind::Poisoned { by } if by.to_string() == "panics(4)"));
            let unwritten = rt.scope(|s| {
                let live = capture();
                let none: Option<Access<'_, u32, Inout, Root>> = None;
                s.task(format!("built {workers}")).nest((none, vec![x.write(), y.write()]), move |s, (none, all)| {
                    let _live = live;
                    assert!(none.is_none());
                    s.set(&all[0], 1);
                });
            });
            let unwritten = unwritten.unwrap_err();
            assert_eq!(unwritten.kind(), &Kind::Unwritten { arg: 1 });
            assert_eq!(unwritten.task().name(), Some(&*format!("built {workers}")));
            assert_eq!(live.into_inner(), 0, "each capture was dropped");
        }
    });
}

/// No body runs after a cancellation, and all captures are dropped.
#[test]
fn cancelled_tasks_drop_their_captures() {
    limit(20, "tasks that are cancelled", || {
        for workers in [1, 2] {
            let (rt, x, live) = (runtime(workers), [0, 1, 2].map(Handle::new), AtomicUsize::new(0));
            let cancelled = rt.scope(|s| {
                s.cancel_token().cancel();
                for n in 0..100 {
                    let (leaf, parent) = (Live::new(&live), Live::new(&live));
                    s.task("leaf").index([n]).spawn(all(&x, Handle::inout), move |_| {
                        let _leaf = leaf;
                        must_not_run()
                    });
                    s.nest(all(&x, Handle::inout), move |_, _| {
                        let _parent = parent;
                        must_not_run()
                    });
                }
            });
            assert_eq!(cancelled.unwrap_err().kind(), &Kind::Cancelled);
            assert_eq!(live.into_inner(), 0);
        }
    });
}

/// Thieves run copies: the accesses, the captures and the names are those of the tasks.
#[test]
fn thieves_take_them() {
    limit(60, "tasks that thieves take", || {
        let rt = runtime(3);
        for round in 0..20 {
            let (data, live): (Vec<_>, _) = ((0..64).map(|_| Handle::new(0_usize)).collect(), AtomicUsize::new(0));
            let bodies = AtomicUsize::new(0);
            let (bodies, live_at) = (&bodies, &live);
            let error = rt.scope(|s| {
                for step in 0..4 {
                    for (n, four) in data.chunks(4).enumerate() {
                        let capture = Live::new(live_at);
                        s.task("four").index([step, n]).spawn(all(four, Handle::inout), move |four| {
                            let _capture = capture;
                            bodies.fetch_add(1, Relaxed);
                            four.into_iter().for_each(|x| {
                                assert_eq!(*x, step * (n + 1));
                                *x += n + 1;
                            });
                            thread::sleep(std::time::Duration::from_micros(50));
                        });
                        let capture = Live::new(live_at);
                        s.task("parent").index([step, n]).nest(all(four, Handle::read), move |s, four| {
                            let _capture = capture;
                            s.task("child").index([step, n]).try_spawn(four[3].read(), move |x| {
                                bodies.fetch_add(1, Relaxed);
                                if (step, n) == (3, 7) { Err(format!("{x}")) } else { Ok(()) }
                            });
                        });
                    }
                }
            });
            assert_eq!(error.unwrap_err().to_string(), "task `child(3,7)` failed: 32", "round {round}");
            assert_eq!((bodies.load(Relaxed), live.load(Relaxed)), (2 * 4 * 16, 0));
            for (n, four) in data.chunks(4).enumerate() {
                assert!(four.iter().all(|x| *x.get().expect("no writer has failed") == 4 * (n + 1)));
            }
        }
    });
}

/// The accesses of one task fill a chunk of the stack, and more.
#[test]
fn very_many_accesses() {
    limit(60, "tasks of very many accesses", || {
        let data: Vec<_> = (0..20_000).map(|_| Handle::new(0_u8)).collect();
        for workers in [1, 2] {
            let rt = runtime(workers);
            rt.scope(|s| {
                for most in [1, 7, 100, 1000, 5000, 20_000, 3] {
                    s.task("some").index([most]).spawn(all(&data[..most], Handle::inout), move |some| {
                        assert_eq!(some.len(), most);
                        some.into_iter().for_each(|x| *x += 1);
                    });
                }
            })
            .unwrap();
        }
        assert_eq!(*data[0].get().unwrap(), 2 * 7);
        assert_eq!(*data[19_999].get().unwrap(), 2);
    });
}

/// Portable tasks with names and `Vec`s run at their spawn, and their failures have the names.
#[test]
fn calls_with_names() {
    fn tree<'s, S: Spawn<'s>>(
        s: &S,
        levels: usize,
        bodies: &'s AtomicUsize,
        x: Vec<Access<'_, usize, Inout, S::Brand>>,
    ) {
        s.task("tree").index([levels]).portable().nest(x, move |s, x| {
            bodies.fetch_add(1, Relaxed);
            s.task("leaf").index([levels]).portable().try_spawn(
                (x[0].read(), Some(x[1].inout())),
                move |(one, two)| {
                    *two.expect("declared") += 1;
                    if *one == levels { Err("reached") } else { Ok(()) }
                },
            );
            if levels > 0 {
                for _ in 0..2 {
                    tree(s, levels - 1, bodies, all(&x, Handle::inout));
                }
            }
            // It has no name, in the same call frame as one with a name.
            s.spawn_with::<_, _, (), ()>(SpawnOptions::portable(std::panic::Location::caller()), (), |()| ());
        });
    }
    limit(20, "calls", || {
        for inline in [Inline::Auto, Inline::Always, Inline::Never] {
            for fails_at in [100, 2, 0] {
                let rt: OnStack = builder(1).inline(inline).build_with().expect("the choices are in range");
                let (data, bodies) = ([fails_at, 0].map(Handle::new), AtomicUsize::new(0));
                let result = rt.scope(|s| tree(s, 4, &bodies, all(&data, Handle::inout)));
                if fails_at == 100 {
                    result.unwrap();
                    assert_eq!((bodies.into_inner(), *data[1].get().unwrap()), (31, 31), "{inline:?}");
                } else {
                    let text = format!("task `leaf({fails_at})` failed: reached");
                    assert_eq!(result.unwrap_err().to_string(), text, "{inline:?}");
                }
            }
        }
    });
}
