//! The dataflow stack: what other schemes do not do. All else is tested with the stack as the build's default scheme.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use common::{limit, sized};
use millpond::depend::stack::Stack;
use millpond::stack::policy::End;
use millpond::{Access, DefaultMemory, DefaultPool, Handle, Idle, Inout, Runtime, Spawn, Sum, Write};

type OnStack = Runtime<DefaultMemory, DefaultPool, Stack>;

fn runtime(workers: usize) -> OnStack {
    Runtime::builder().workers(workers).build_with().unwrap()
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Relaxed) {
        thread::yield_now();
    }
}

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

/// A body that does not look at its stack gives away what else is ready there, at once and in the frames below.
#[test]
fn a_long_body_gives_its_stack_away() {
    limit(20, "a body that waits for tasks behind it", || {
        let (rt, x) = (runtime(2), Handle::new(0));
        for _ in 0..100 {
            let (within, behind) = (AtomicBool::new(false), AtomicBool::new(false));
            rt.scope(|s| {
                s.nest(x.inout(), |s, x| {
                    s.spawn(x.inout(), |_| {
                        wait_for(&within);
                        wait_for(&behind);
                    });
                    s.spawn((), |()| within.store(true, Relaxed));
                });
                s.spawn((), |()| behind.store(true, Relaxed));
            })
            .unwrap();
        }
    });
}

/// Who comes to a stolen closure that has not ended becomes a thief, and its stack a victim, of its own too.
#[test]
fn who_comes_to_a_stolen_closure_goes_on_elsewhere() {
    limit(20, "a stolen body that waits for tasks behind it", || {
        let (rt, x) = (runtime(2), Handle::new(0));
        for _ in 0..100 {
            let (begun, behind) = (AtomicBool::new(false), AtomicBool::new(false));
            let last = AtomicUsize::new(0);
            rt.scope(|s| {
                s.spawn((), |()| wait_for(&begun));
                s.spawn(x.inout(), |_| {
                    begun.store(true, Relaxed);
                    wait_for(&behind);
                    last.store(1, Relaxed);
                });
                s.spawn((), |()| behind.store(true, Relaxed));
                s.spawn(x.read(), |_| assert_eq!(last.load(Relaxed), 1, "before the task that it waits for"));
            })
            .unwrap();
        }
    });
}

/// A parent that is all there is in the stack takes its time before it spawns: those who sleep by then are told. Its leaves end
/// only if they run at once.
#[test]
fn a_parent_spawns_when_all_sleep() {
    limit(20, "a parent that spawns late", || {
        let rt: OnStack = Runtime::builder().workers(2).idle(Idle::Sleep).build_with().unwrap();
        let running = AtomicUsize::new(0);
        let value = rt.scope(|s| {
            let parent = s.nest((), |s, ()| {
                thread::sleep(Duration::from_millis(100));
                for _ in 0..2 {
                    s.spawn((), |()| {
                        running.fetch_add(1, Relaxed);
                        while running.load(Relaxed) != 2 {
                            thread::yield_now();
                        }
                    });
                }
                7
            });
            s.wait(parent).unwrap()
        });
        assert_eq!(value.unwrap(), 7);
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

/// Frames go as deep as there is memory, and threads' stacks do not.
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

/// What tasks capture goes through the ends of chunks, and what is large lies elsewhere.
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
            let (rt, sum) = (runtime(workers), &AtomicUsize::new(0));
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

/// A datum whose tasks have ended goes to a scope of another runtime while the frame is not empty, and is dropped there: the frame
/// does not look at it again.
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
                    // So many that what comes before the parent is run.
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
