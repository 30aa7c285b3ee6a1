//! Features of the dataflow stack. Other tests cover the rest, with the stack as the build's
//! default scheme.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::common::{OnStack, builder, limit, must_not_run, on_stack as runtime, sized};
use millpond::stack::End;
use millpond::{Access, Handle, Inout, Kind, Runtime, Spawn, Sum, Write};

fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
    s.nest(r, move |s, r| {
        if n < 2 {
            s.set(&r, n);
        } else {
            let (a, b) = (s.unset(), s.unset());
            fib(s, n - 1, a.write());
            fib(s, n - 2, b.write());
            s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
        }
    });
}

#[test]
fn a_chain() {
    limit(20, "a chain", || {
        let (rt, x) = (runtime(1), Handle::new(0));
        rt.scope(|s| {
            for n in 0..10_000_u64 {
                s.spawn(x.inout(), move |x| {
                    assert_eq!(*x, n);
                    *x += 1;
                });
            }
        })
        .unwrap();
        assert_eq!(x.into_inner().unwrap(), 10_000);
    });
}

#[test]
fn fibonacci() {
    limit(60, "fib", || {
        for workers in [1, 2, 3, 8] {
            for _ in 0..20 {
                let (rt, x) = (runtime(workers), Handle::unset());
                rt.scope(|s| fib(s, 17, x.write())).unwrap();
                assert_eq!(x.into_inner().unwrap(), 1597, "{workers} workers");
            }
        }
    });
}

#[test]
fn from_either_end() {
    limit(60, "thieves that begin at either end", || {
        for end in [End::Oldest, End::Newest] {
            let rt: OnStack = Runtime::builder().workers(3).steal_from(end).build_with().unwrap();
            for _ in 0..20 {
                let x = Handle::unset();
                rt.scope(|s| fib(s, 15, x.write())).unwrap();
                assert_eq!(x.into_inner().unwrap(), 610, "{end:?}");
            }
        }
    });
}

fn descend<'s, S: Spawn<'s>>(s: &S, levels: usize, deepest: &'s AtomicUsize, x: Access<'_, usize, Inout, S::Brand>) {
    s.nest(x, move |s, x| {
        if levels == 0 {
            deepest.fetch_add(1, Relaxed);
        } else {
            descend(s, levels - 1, deepest, x.inout());
        }
        s.spawn(x.inout(), |x| *x += 1);
    });
}

/// Frames nest as deep as memory allows. The stacks of threads are smaller.
#[test]
fn frames_upon_frames() {
    limit(60, "a deep recursion", || {
        let levels = sized(50_000, 500_000);
        for workers in [1, 2] {
            let (rt, x, deepest) = (runtime(workers), Handle::new(0), AtomicUsize::new(0));
            rt.scope(|s| descend(s, levels, &deepest, x.inout())).unwrap();
            assert_eq!((x.into_inner().unwrap(), deepest.into_inner()), (levels + 1, 1), "{workers} workers");
        }
    });
}

/// The captures of tasks reach the ends of chunks. Large captures are stored out of line.
#[test]
fn captures_of_all_sizes() {
    fn of_size<'s, const N: usize>(s: &impl Spawn<'s>, sum: &'s AtomicUsize, n: u8) {
        let all = [n; N];
        s.spawn((), move |()| {
            assert!(all.iter().all(|&one| one == n));
            sum.fetch_add(all.len(), Relaxed);
        });
    }
    limit(60, "captures of many bytes", || {
        for workers in [1, 2, 3] {
            // Unoptimized code copies the captures at each call, so it needs more stack.
            let rt: OnStack = builder(workers).stack_size(16 << 20).build_with().expect("the choices are in range");
            let sum = &AtomicUsize::new(0);
            rt.scope(|s| {
                for n in 0..200 {
                    s.nest((), move |s, ()| {
                        of_size::<1>(s, sum, n);
                        of_size::<777>(s, sum, n);
                        of_size::<10_000>(s, sum, n);
                        of_size::<40_000>(s, sum, n);
                    });
                }
            })
            .unwrap();
            assert_eq!(sum.load(Relaxed), 200 * 50_778);
        }
    });
}

#[test]
fn what_waits_in_a_stack_is_not_quiet() {
    limit(20, "quiescence", || {
        for workers in [1, 2] {
            let (rt, x) = (runtime(workers), Handle::new(0));
            rt.scope(|s| {
                let join = s.spawn(x.inout(), |x| *x += 1);
                assert!(matches!(s.block_on_or_quiesce(join), Some(Ok(()))));
                for _ in 0..100 {
                    s.spawn(x.inout(), |x| *x += 1);
                }
                assert!(s.block_on_or_quiesce(std::future::pending::<()>()).is_none());
                s.spawn(x.read(), |x| assert_eq!(*x, 101));
            })
            .unwrap();
        }
    });
}

#[test]
fn values_and_reductions() {
    limit(20, "values", || {
        for workers in [1, 2] {
            let (rt, x, mut y) = (runtime(workers), Handle::new(0_u64), Handle::new(1_u64));
            let seen = rt
                .scope(|s| {
                    for n in 0..1000 {
                        s.spawn(x.reduce(Sum), move |x| *x += n);
                    }
                    let join = s.spawn((x.read(), y.inout()), |(x, y)| {
                        *y += x;
                        *y
                    });
                    assert_eq!(*s.wait_on(&mut y).unwrap(), 499_501);
                    s.wait(join).unwrap()
                })
                .unwrap();
            assert_eq!(seen, 499_501);
        }
    });
}

/// A datum's tasks have ended, but the frame is not empty. A scope of another runtime takes the
/// datum over, and the datum is dropped. The frame does not look at it again.
#[test]
fn what_another_scope_took_over_is_forgotten() {
    limit(20, "a datum that goes on", || {
        let (outer, inner) = (runtime(1), Runtime::builder().workers(1).build().unwrap());
        for _ in 0..100 {
            outer
                .scope(|s| {
                    let (x, n) = (Handle::new(0_u64), Handle::new(0_u64));
                    s.spawn(x.inout(), |x| *x += 1);
                    s.nest((), |_, ()| {});
                    // This many tasks make the worker run what comes before the parent.
                    (0..1000).for_each(|_| drop(s.spawn(n.inout(), |n| *n += 1)));
                    inner.scope(|t| drop(t.spawn(x.inout(), |x| *x += 1))).unwrap();
                    assert_eq!(x.into_inner().unwrap(), 2);
                    let others: Vec<_> = (0..10).map(Handle::new).collect();
                    others.iter().for_each(|other| drop(s.spawn(other.inout(), |other| *other += 1_u64)));
                })
                .unwrap();
        }
    });
}

/// Counts down with body-local data. They are more than a frame holds. Some are too large for a
/// frame, and some need a larger alignment. Tasks use them before a wait, and most also after it.
fn with_data_of_its_own<'s, S: Spawn<'s>>(s: &S, levels: u64, sum: Access<'_, u64, Inout, S::Brand>) {
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Wide(u64);

    s.nest(sum, move |s, sum| {
        let small: Vec<_> = (0..50).map(|n| s.handle(n + levels)).collect();
        let (large, wide, mut late) = (s.handle([levels; 100]), s.handle(Wide(levels)), s.unset());
        for one in &small {
            s.spawn(one.inout(), |one| *one += 1);
        }
        s.spawn((large.read(), wide.inout()), |(large, wide)| wide.0 += large[99]);
        s.spawn((small[0].read(), late.write()), move |(small, late)| late.set(*small));
        assert_eq!(*s.wait_on(&mut late).unwrap(), levels + 1);
        if levels > 0 {
            with_data_of_its_own(s, levels - 1, sum.inout());
        }
        for one in &small {
            s.spawn((one.read(), sum.inout()), |(one, sum)| *sum += one);
        }
        s.spawn((wide.read(), sum.inout()), |(wide, sum)| *sum += wide.0);
    });
}

#[test]
fn data_of_a_bodys_own() {
    limit(60, "data of a body's own", || {
        let expected: u64 = (0..=20).map(|level| (0..50).map(|n| n + level + 1).sum::<u64>() + 2 * level).sum();
        for workers in [1, 2, 3, 8] {
            let (rt, sum) = (runtime(workers), Handle::new(0));
            for round in 1..=10 {
                rt.scope(|s| with_data_of_its_own(s, 20, sum.inout())).unwrap();
                rt.scope(|s| drop(s.spawn(sum.read(), move |&sum| assert_eq!(sum, round * expected)))).unwrap();
            }
        }
    });
}

/// If the task of a body-local datum fails, the datum keeps the failure until the frame's end. A
/// later `write` may clear it before that.
#[test]
fn failures_in_data_of_a_bodys_own() {
    limit(60, "failures in data of a body's own", || {
        for workers in [1, 2, 3] {
            let rt = runtime(workers);
            for _ in 0..100 {
                let (x, y) = (Handle::new(0), Handle::new(0));
                let error = rt.scope(|s| {
                    s.nest((x.inout(), y.write()), |s, (x, y)| {
                        let (own, other) = (s.handle(1), s.handle(2));
                        s.task("bad").spawn(own.inout(), |_| panic!("on purpose"));
                        s.spawn((own.read(), x.inout()), |_| unreachable!("what it reads was not produced"));
                        s.spawn(own.write(), |own| own.set(3));
                        s.spawn((own.read(), other.read(), y.write()), |(own, other, y)| y.set(own + other));
                    });
                });
                let error = error.unwrap_err();
                assert_eq!(error.task().to_string(), "bad");
                assert!(matches!(x.into_inner().unwrap_err().kind(), Kind::Poisoned { .. }));
                assert_eq!(y.into_inner().unwrap(), 5);
            }
        }
    });
}

/// Handles of body-local data may be dropped anywhere. The drop frees nothing.
#[test]
fn data_of_a_bodys_own_that_others_drop() {
    limit(20, "handles that other threads drop", || {
        for workers in [1, 2] {
            let (rt, sum) = (runtime(workers), Handle::new(0));
            rt.scope(|s| {
                s.nest(sum.inout(), |s, sum| {
                    for n in 0..100 {
                        let own = s.handle(n);
                        s.spawn((own.read(), sum.inout()), |(own, sum)| *sum += own);
                        thread::scope(|t| t.spawn(|| drop(own)).join().unwrap());
                    }
                });
            })
            .unwrap();
            assert_eq!(sum.into_inner().unwrap(), 4950);
        }
    });
}

/// A compact parent's body fails like any other. What it should have written is poisoned. What it
/// read is not.
#[test]
fn parents_that_fail() {
    limit(60, "parents that fail", || {
        for workers in [1, 2, 3] {
            let rt = runtime(workers);
            for _ in 0..50 {
                let [a, b, c, d] = [1, 2, 3, 4].map(Handle::new);
                let error = rt.scope(|s| {
                    s.nest((a.read(), b.inout(), c.write()), |s, (a, b, _c)| {
                        s.spawn((a.read(), b.inout()), |(a, b)| *b += a);
                        panic!("on purpose");
                    });
                    s.nest((b.read(), d.inout()), |_, _| unreachable!("what it reads was not produced"));
                    s.nest(a.write(), |_, _| ());
                });
                assert!(matches!(error.unwrap_err().kind(), Kind::Panicked(_)));
                // The last parent has not written what it should have.
                for poisoned in [a, b, c, d] {
                    assert!(matches!(poisoned.into_inner().unwrap_err().kind(), Kind::Poisoned { .. }));
                }
            }
        }
    });
}

/// At each end of a scope, a stack gives back half of what it no longer uses. It does not grow, and
/// works as before.
#[test]
fn large_and_small_scopes() {
    limit(60, "large and small scopes", || {
        let (rt, x, deepest) = (runtime(1), Handle::new(0), AtomicUsize::new(0));
        for levels in [5_000, 1, 2, 3, 100, 10_000, 1, 1, 1, 1, 1, 1, 20_000, 0] {
            rt.scope(|s| descend(s, levels, &deepest, x.inout())).unwrap();
        }
        assert_eq!(deepest.into_inner(), 14);
    });
}

/// A scope's record about a datum is valid for that scope. A later scope claims the datum again,
/// and waits for its own tasks.
#[test]
fn data_that_several_scopes_use() {
    limit(60, "data that several scopes use", || {
        for workers in [1, 2] {
            let (rt, other, [x, y, z]) = (runtime(workers), runtime(workers), [0, 0, 0].map(Handle::new));
            for round in 0..100 {
                let used = |x: &mut u64| *x = round;
                rt.scope(|s| [&x, &y, &z].map(|each| drop(s.spawn(each.inout(), used)))).unwrap();
                rt.scope(|s| {
                    // If no thief steals this parent, it does not run before the others are
                    // spawned.
                    s.nest((), |_, ()| ());
                    // In between, another runtime's scope uses `z`.
                    other.scope(|t| drop(t.spawn(z.inout(), |z| *z += 1))).unwrap();
                    s.spawn((x.inout(), z.inout()), |(x, z)| *x += *z + 1);
                    s.set(&x, 100);
                    s.set(&z, 200);
                    s.spawn(y.inout(), |y| *y += 1);
                    let busy = rt.scope(|t| drop(t.spawn(y.read(), |_| ())));
                    assert!(busy.is_ok() || matches!(busy.unwrap_err().kind(), Kind::Busy { .. }));
                })
                .unwrap();
                let expected = [100, round + 1, 200];
                let each = [&x, &y, &z].into_iter().zip(expected);
                rt.scope(|s| each.for_each(|(x, value)| drop(s.spawn(x.read(), move |&x| assert_eq!(x, value)))))
                    .unwrap();
            }
            let early = rt.scope(|s| {
                s.nest((), |_, ()| ());
                s.spawn(x.inout(), |x| *x += 1);
                x.into_inner()
            });
            match early.unwrap() {
                Ok(x) => assert!(x == 101 && workers == 2, "only if it was stolen, and has ended"),
                Err(error) => assert!(matches!(error.kind(), Kind::Busy { .. })),
            }
        }
    });
}

/// Two scopes on two threads. One of them is refused, or runs after the other.
#[test]
fn scopes_on_two_threads_are_not_both_let_in() {
    limit(60, "two scopes on two threads", || {
        let (runtimes, x, inside) = ([runtime(1), runtime(2)], Handle::new(0), AtomicUsize::new(0));
        let body = |x: &mut u64| {
            assert_eq!(inside.fetch_add(1, Relaxed), 0, "alone");
            *x += 1;
            thread::sleep(Duration::from_millis(1));
            inside.fetch_sub(1, Relaxed);
        };
        runtimes[0].scope(|s| drop(s.spawn(x.inout(), body))).unwrap();
        for _ in 0..50 {
            let run = |rt: &OnStack| match rt.scope(|s| drop(s.spawn(x.inout(), body))) {
                Ok(()) => {}
                Err(error) => assert!(matches!(error.kind(), Kind::Busy { .. }), "{error}"),
            };
            thread::scope(|t| runtimes.each_ref().map(|rt| t.spawn(|| run(rt))).map(|one| one.join().unwrap()));
        }
        assert!((51..=101).contains(&x.into_inner().unwrap()));
    });
}

/// A generation in a body is separate from the surrounding ones, even if it is also the first one
/// there. The data that its members leave poisoned are poisoned for the surrounding ones.
#[test]
fn generations_within_a_parent() {
    limit(60, "generations within a parent", || {
        for workers in [1, 2, 3] {
            let rt = runtime(workers);
            for _ in 0..50 {
                let [x, y] = [0_u64, 0].map(Handle::new);
                let result = rt.scope(|s| {
                    s.nest(x.inout(), |s, x| drop(s.spawn(x.commutative(), |_| panic!("on purpose"))));
                    s.spawn(x.commutative(), |_| must_not_run());
                    s.nest(y.inout(), |s, y| {
                        s.spawn(y.commutative(), |_| panic!("on purpose, too"));
                        s.spawn(y.write(), |y| y.set(1));
                        s.nest(y.inout(), |s, y| {
                            s.spawn(y.inout(), |_| panic!("and again"));
                            s.spawn(y.commutative(), |_| must_not_run());
                        });
                    });
                });
                assert!(result.is_err());
                assert!(x.into_inner().is_err() && y.into_inner().is_err());
            }
        }
    });
}
