//! Thefts from a dataflow stack: which tasks an owner gives away, and which worker waits for stolen
//! tasks.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{OnStack, limit, on_stack as runtime};
use millpond::stack::End;
use millpond::{Handle, Idle, Reducer, Runtime, Spawn, Sum};

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Relaxed) {
        thread::yield_now();
    }
}

/// A body that never checks its stack gives away the other ready tasks at its start. Thieves also
/// take the tasks in the frames below.
#[test]
fn a_long_body_gives_its_stack_away() {
    for end in [End::Oldest, End::Newest] {
        limit(20, "a body that waits for tasks behind it", || {
            let rt: OnStack = Runtime::builder().workers(2).steal_from(end).build_with().unwrap();
            let x = Handle::new(0);
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
}

/// If an owner reaches a stolen closure that has not ended, it becomes a thief. Its stack becomes a
/// victim, also of the owner itself.
#[test]
fn an_owner_that_reaches_a_stolen_closure_steals() {
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

/// The only task in the stack is a parent that spawns late. It wakes the workers that sleep by
/// then. The parent's leaves end only if they run at the same time.
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

/// Thieves take many short closures at once. An owner that continues with a long one leaves the
/// short ones to the others.
#[test]
fn short_tasks_behind_a_body_that_waits_for_them() {
    limit(60, "a body that waits for many short tasks behind it", || {
        for (workers, turns) in [(2, 0), (2, 1000), (3, 10), (3, 10_000)] {
            let (rt, x, y) = (runtime(workers), Handle::new(()), Handle::new(()));
            for _ in 0..5 {
                let ran = AtomicUsize::new(0);
                rt.scope(|s| {
                    s.spawn((x.inout(), y.inout()), |_| thread::sleep(Duration::from_micros(200)));
                    s.spawn(x.inout(), |_| {
                        while ran.load(Relaxed) < 1000 {
                            thread::yield_now();
                        }
                    });
                    for _ in 0..1000 {
                        s.spawn(y.read(), |_| {
                            (0..turns).for_each(|_| std::hint::spin_loop());
                            ran.fetch_add(1, Relaxed);
                        });
                    }
                })
                .unwrap();
                assert_eq!(ran.into_inner(), 1000, "{workers} workers");
            }
        }
    });
}

/// A body waits for a datum whose task another worker has stolen. That task ends only if the
/// waiting worker runs the later tasks.
#[test]
fn wait_on_when_the_task_was_stolen() {
    limit(20, "a body that waits for a stolen task", || {
        let rt = runtime(2);
        for stolen in [false, true] {
            for _ in 0..50 {
                let (entered, begun, released) =
                    (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
                let seen = rt.scope(|s| {
                    if stolen {
                        // This leaf comes before the parent in the stack. The worker that does not
                        // run the leaf steals the parent.
                        s.spawn((), |()| wait_for(&entered));
                    }
                    let parent = s.nest((), |s, ()| {
                        entered.store(true, Relaxed);
                        let mut x = s.unset();
                        s.spawn(x.write(), |x| {
                            begun.store(true, Relaxed);
                            wait_for(&released);
                            x.set(7);
                        });
                        s.spawn((), |()| released.store(true, Relaxed));
                        // This body has not checked its stack, so a thief has stolen the writer of
                        // `x`.
                        wait_for(&begun);
                        *s.wait_on(&mut x).unwrap()
                    });
                    s.wait(parent).unwrap()
                });
                assert_eq!(seen.unwrap(), 7);
            }
        }
    });
}

/// The window behind a parent is full. The spawning body does not run that parent itself. It waits
/// for no more than there is.
#[test]
fn room_where_places_are_no_tasks() {
    limit(20, "room after many sets", || {
        for workers in [1, 2] {
            let (rt, xs) = (runtime(workers), [0; 20].map(Handle::new));
            rt.scope(|s| {
                s.nest((), |s, ()| _ = s.spawn((), |()| ()));
                for n in 0..300 {
                    xs.iter().for_each(|x| s.set(x, n));
                    let large = [n; 300];
                    s.spawn((), move |()| assert!(large.iter().all(|&one| one == n)));
                }
            })
            .unwrap();
            assert!(xs.into_iter().all(|x| x.into_inner().unwrap() == 299), "{workers} workers");
        }
    });
}

/// As above, but most of the waiting tasks are combinations. No thief takes these.
#[test]
fn room_among_combinations() {
    limit(20, "room among combinations", || {
        for workers in [1, 2] {
            let rt: OnStack = Runtime::builder().workers(workers).window(512).build_with().unwrap();
            let x = Handle::new(0);
            rt.scope(|s| {
                s.nest((), |s, ()| _ = s.spawn((), |()| ()));
                for n in 1..=2000_u64 {
                    s.spawn(x.reduce(Sum), |x: &mut u64| *x += 1);
                    s.spawn(x.read(), move |x| assert_eq!(*x, n));
                }
            })
            .unwrap();
            assert_eq!(x.into_inner().unwrap(), 2000, "{workers} workers");
        }
    });
}

/// A sum whose parts take time to combine.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slow(Duration);

impl Reducer<u64> for Slow {
    fn identity(&self, _like: &u64) -> u64 {
        0
    }

    fn combine(&self, into: &mut u64, part: u64) {
        spin_for(self.0);
        *into += part;
    }
}

fn spin_for(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// A scan ends at one of several combinations that a reader entails. The owner runs the last of
/// them when the next scan begins.
#[test]
fn combinations_where_a_scan_ends() {
    limit(60, "a reader of three reductions", || {
        let (rt, [none, some]) = (runtime(2), [0, 3].map(Duration::from_millis));
        // Works for any number of tasks that a scan finds not ready.
        for others in [0, 1, 2, 59, 60, 61].repeat(5) {
            let (x, [a, b, c], begun) = (Handle::new(0), [0; 3].map(Handle::new), AtomicBool::new(false));
            rt.scope(|s| {
                s.spawn(x.inout(), |_| {
                    wait_for(&begun);
                    spin_for(some);
                });
                s.spawn((), |()| begun.store(true, Relaxed));
                (0..others).for_each(|_| _ = s.spawn(x.inout(), |x| *x += 1));
                for (sum, takes) in [(&a, none), (&b, none), (&c, some)] {
                    s.spawn((x.inout(), sum.reduce(Slow(takes))), |(_x, sum)| *sum += 1);
                }
                s.spawn((a.read(), b.read(), c.read()), |sums| assert_eq!(sums, (&1, &1, &1)));
            })
            .unwrap();
            assert_eq!(x.into_inner().unwrap(), others);
        }
    });
}

/// Thieves go on where the last scan ended. They do not if the frame was emptied meanwhile and
/// filled with other tasks.
#[test]
fn a_frame_is_used_again_and_again() {
    limit(60, "a body that waits again and again", || {
        let (rt, mut x, y) = (runtime(3), Handle::new(0), Handle::new(0));
        let readers = &AtomicUsize::new(0);
        rt.scope(|s| {
            for round in 1..=2000 {
                for step in 0..3 {
                    s.spawn(x.inout(), move |x| {
                        assert_eq!(*x, 3 * (round - 1) + step);
                        *x += 1;
                    });
                    for _ in 0..3 {
                        s.spawn((x.read(), y.read()), move |(x, _y)| {
                            assert_eq!(*x, 3 * (round - 1) + step + 1);
                            readers.fetch_add(1, Relaxed);
                        });
                    }
                }
                s.spawn(y.inout(), |y| *y += 1);
                assert_eq!(*s.wait_on(&mut x).unwrap(), 3 * round);
            }
        })
        .unwrap();
        assert_eq!((y.into_inner().unwrap(), readers.load(Relaxed)), (2000, 18_000));
    });
}

/// Takes a few microseconds, so thieves take several such leaves at once.
fn work() {
    let until = Instant::now() + Duration::from_micros(3);
    while Instant::now() < until {}
}

/// A thief has reserved the leaves behind the first one of its batch. If that leaf waits for one of
/// them, another worker runs it.
#[test]
fn no_leaf_waits_for_a_thief_that_waits() {
    limit(60, "leaves that wait for later ones", || {
        for workers in [2, 3, 4] {
            let rt = runtime(workers);
            for gap in 1..100 {
                let found = AtomicBool::new(false);
                rt.scope(|s| {
                    (0..150).for_each(|_| drop(s.spawn((), |()| work())));
                    s.spawn((), |()| wait_for(&found));
                    (0..gap).for_each(|_| drop(s.spawn((), |()| work())));
                    s.spawn((), |()| found.store(true, Relaxed));
                    (0..50).for_each(|_| drop(s.spawn((), |()| work())));
                })
                .unwrap();
            }
        }
    });
}

/// A thief takes several tasks of a chain at once.
#[test]
fn chains_run_in_order() {
    limit(60, "chains", || {
        for workers in [2, 3, 4] {
            let rt = runtime(workers);
            for chains in [1, 3, 40] {
                let handles: Vec<_> = (0..chains).map(|_| Handle::new(0)).collect();
                rt.scope(|s| {
                    for step in 0..1000 / chains {
                        for chain in &handles {
                            s.spawn(chain.inout(), move |done| {
                                work();
                                assert_eq!(std::mem::replace(done, step + 1), step);
                            });
                        }
                    }
                })
                .unwrap();
                assert!(handles.into_iter().all(|chain| chain.into_inner().unwrap() == 1000 / chains));
            }
        }
    });
}
