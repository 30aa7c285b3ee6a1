//! Waits are isolated. User code may hold a lock, a borrow or a thread-local over a wait. A caller
//! returns when its own tasks have ended.

use std::cell::RefCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use millpond::{Engine, Handle, Idle, Runtime, Spawn, StackEngine};

use crate::common::{builder, deep, limit, number, sized};

/// More tasks than a worker takes at once.
const LEAVES: usize = 100;

fn spin() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(20) {
        spin_loop();
    }
}

/// A way to wait in a body that holds one of several locks.
type Program<E> = fn(&Runtime<E>, &[Mutex<u64>]);

/// The lock of a body. The body holds it until it drops the guard.
fn hold(locks: &[Mutex<u64>], nth: usize) -> MutexGuard<'_, u64> {
    locks[nth % locks.len()].lock().expect("no thread panics")
}

fn join<E: Engine>(rt: &Runtime<E>, locks: &[Mutex<u64>]) {
    rt.scope(|s| {
        for nth in 0..LEAVES {
            s.spawn((), move |()| {
                let mut held = hold(locks, nth);
                millpond::join(spin, spin);
                *held += 1;
            });
        }
    })
    .expect("nothing fails");
}

fn wait<E: Engine>(rt: &Runtime<E>, locks: &[Mutex<u64>]) {
    rt.scope(|s| {
        for nth in 0..LEAVES {
            s.nest((), move |s, ()| {
                let mut held = hold(locks, nth);
                let children = [(); 3].map(|()| s.spawn((), |()| _ = millpond::join(spin, spin)));
                children.into_iter().for_each(|child| s.wait(child).expect("it does not fail"));
                *held += 1;
            });
        }
    })
    .expect("nothing fails");
}

fn wait_on<E: Engine>(rt: &Runtime<E>, locks: &[Mutex<u64>]) {
    let sums: Vec<_> = (0..LEAVES).map(|_| Handle::new(0)).collect();
    rt.scope(|s| {
        for (nth, sum) in sums.iter().enumerate() {
            s.nest(sum.inout(), move |s, mut sum| {
                let mut held = hold(locks, nth);
                (0..3).for_each(|_| drop(s.spawn(sum.commutative(), |sum| (spin(), *sum += 1).1)));
                assert_eq!(*s.wait_on(&mut sum).expect("it does not fail"), 3);
                *held += 1;
            });
        }
    })
    .expect("nothing fails");
}

fn inner_scope<E: Engine>(rt: &Runtime<E>, locks: &[Mutex<u64>]) {
    rt.scope(|s| {
        for nth in 0..LEAVES {
            s.spawn((), move |()| {
                let mut held = hold(locks, nth);
                rt.scope(|s| (0..3).for_each(|_| drop(s.spawn((), |()| spin())))).expect("nothing fails");
                *held += 1;
            });
        }
    })
    .expect("nothing fails");
}

/// A body that waits in each possible way, while it borrows a thread-local.
fn borrow<E: Engine>(rt: &Runtime<E>, locks: &[Mutex<u64>]) {
    thread_local!(static BORROWED: RefCell<u64> = const { RefCell::new(0) });
    rt.scope(|s| {
        for nth in 0..LEAVES {
            s.nest((), move |s, ()| {
                BORROWED.with(|cell| {
                    let mut borrowed = cell.borrow_mut();
                    let child = s.spawn((), |()| spin());
                    match nth % 3 {
                        0 => s.wait(child).expect("it does not fail"),
                        1 => _ = millpond::join(spin, spin),
                        _ => rt.scope(|s| drop(s.spawn((), |()| spin()))).expect("nothing fails"),
                    }
                    *borrowed += 1;
                });
                *hold(locks, nth) += 1;
            });
        }
    })
    .expect("nothing fails");
}

/// A body that waits for a task of a session, and for the session's end. Only some bodies do this:
/// such a wait takes a millisecond or more until the thread looks for tasks that it can run.
fn session<E: Engine>(rt: &Runtime<E>, locks: &[Mutex<u64>]) {
    rt.scope(|s| {
        for nth in 0..LEAVES {
            s.spawn((), move |()| {
                let mut held = hold(locks, nth);
                if nth.is_multiple_of(8) {
                    let (session, mut sum) = (rt.session(), Handle::new(0));
                    let [first, _, last] = [(); 3].map(|()| session.spawn(sum.inout(), |sum| (spin(), *sum += 1).1));
                    match nth / 8 % 3 {
                        0 => session.wait(first).expect("it does not fail"),
                        1 => session.wait(last).expect("it does not fail"),
                        _ => assert_eq!(*session.wait_on(&mut sum).expect("it does not fail"), 3),
                    }
                    session.close().wait().expect("nothing fails");
                    assert_eq!(sum.into_inner().expect("the session has ended"), 3);
                }
                *held += 1;
            });
        }
    })
    .expect("nothing fails");
}

fn programs<E: Engine>() -> [(&'static str, Program<E>); 6] {
    [
        ("join", join),
        ("wait", wait),
        ("wait_on", wait_on),
        ("inner scope", inner_scope),
        ("borrow", borrow),
        ("session", session),
    ]
}

/// How often each program runs: `MILLPOND_RUNS`, or a few times.
fn runs() -> u64 {
    number("MILLPOND_RUNS", sized(2, deep(5, 20)) as u64)
}

/// Runs each program this often, with 1 to 8 workers. Either all bodies need one lock, or as many
/// bodies as spare threads hold one each.
fn hold_locks<E: Engine>(most: usize, build: impl Fn(usize) -> Runtime<E>) {
    for (name, program) in programs() {
        limit(60 + runs(), format!("a lock over {name}"), || {
            for workers in 1..=most {
                let rt = build(workers);
                for locks in [1, 4 * workers] {
                    for run in 1..=runs() {
                        let locks: Vec<_> = (0..locks).map(|_| Mutex::new(0)).collect();
                        program(&rt, &locks);
                        let held: u64 =
                            locks.into_iter().map(|lock| lock.into_inner().expect("no thread panics")).sum();
                        assert_eq!(held, LEAVES as u64, "{name}, {workers} workers, run {run}");
                    }
                }
            }
        });
    }
}

#[test]
fn bodies_hold_locks_over_waits() {
    hold_locks(8, |workers| builder(workers).build().expect("in range"));
}

#[test]
fn bodies_of_busy_workers_hold_locks_over_waits() {
    hold_locks(2, |workers| builder(workers).idle(Idle::Busy).window(1).build().expect("in range"));
}

#[test]
fn bodies_hold_locks_over_waits_on_the_stack() {
    hold_locks::<StackEngine>(8, |workers| builder(workers).build_with().expect("in range"));
}

/// A recursion of parents that wait for each other.
fn descend<'s, S: Spawn<'s>>(s: &S, depth: u32) {
    if depth > 0 {
        let below = s.nest((), move |s, ()| descend(s, depth - 1));
        s.wait(below).expect("it does not fail");
    }
}

/// A body holds a lock over a recursion that needs more than one stack. Other bodies need that
/// lock.
fn hold_a_lock_over_a_recursion<E: Engine>(rt: &Runtime<E>) {
    let lock = &Mutex::new(0);
    rt.scope(|s| {
        for nth in 0..LEAVES {
            s.nest((), move |s, ()| {
                let mut held = lock.lock().expect("no thread panics");
                descend(s, if nth.is_multiple_of(16) { 100 } else { 0 });
                *held += 1;
            });
        }
    })
    .expect("nothing fails");
    assert_eq!(*lock.lock().expect("no thread panics"), LEAVES);
}

#[test]
fn bodies_hold_locks_over_recursions() {
    limit(120 + runs(), "a lock over a recursion", || {
        for workers in 1..=4 {
            for _ in 0..runs() {
                let builder = || builder(workers).stack_size(128 << 10);
                hold_a_lock_over_a_recursion(&builder().build().expect("in range"));
                hold_a_lock_over_a_recursion(&builder().build_with::<StackEngine>().expect("in range"));
            }
        }
    });
}

/// A body that waits for tasks of others stays on its thread, in every way to wait. (There are as
/// many such bodies as spare threads.)
fn borrow_over_waits_in_sessions<E: Engine>(rt: &Runtime<E>, workers: usize) {
    thread_local!(static BORROWED: RefCell<u64> = const { RefCell::new(0) });
    let (shared, one) = (rt.session(), Handle::new(0).in_place());
    rt.scope(|s| {
        for nth in 0..4 * workers {
            let (shared, one) = (&shared, &one);
            s.spawn((), move |()| {
                let (session, mut sum) = (rt.session(), Handle::new(0).in_place());
                BORROWED.with(|cell| {
                    let mut borrowed = cell.borrow_mut();
                    let tasks = [(); 3].map(|()| session.spawn(sum.inout(), |sum| (spin(), *sum += 1).1));
                    match nth % 5 {
                        0 => tasks.into_iter().for_each(|task| session.wait(task).expect("it does not fail")),
                        1 => assert_eq!(*session.wait_on(&mut sum).expect("it does not fail"), 3),
                        2 => session.set(&sum, 4),
                        3 => session.close().wait().expect("nothing fails"),
                        // The window may be full.
                        _ => (0..8).for_each(|_| drop(shared.spawn(one.inout(), |one| (spin(), *one += 1).1))),
                    }
                    *borrowed += 1;
                });
            });
        }
    })
    .expect("nothing fails");
    shared.close().wait().expect("nothing fails");
}

#[test]
fn bodies_borrow_over_waits_in_sessions() {
    limit(60 + runs(), "a borrow over waits in sessions", || {
        for workers in 1..=4 {
            for _ in 0..runs() {
                borrow_over_waits_in_sessions(&builder(workers).window(4).build().expect("in range"), workers);
                let rt = builder(workers).window(4).build_with::<StackEngine>().expect("in range");
                borrow_over_waits_in_sessions(&rt, workers);
            }
        }
    });
}

#[test]
fn a_caller_runs_no_other_sessions_tasks() {
    limit(60, "a caller", || {
        for workers in 1..=3 {
            for _ in 0..sized(5, 20) {
                let rt = builder(workers).build().expect("in range");
                let (session, end) = (rt.session(), Arc::new(AtomicBool::new(false)));
                let ends = end.clone();
                let long = session.spawn((), move |()| {
                    while !ends.load(Relaxed) {
                        std::thread::sleep(Duration::from_micros(100));
                    }
                });
                let ran = AtomicU64::new(0);
                rt.scope(|s| (0..10).for_each(|_| drop(s.spawn((), |()| _ = ran.fetch_add(1, Relaxed)))))
                    .expect("nothing fails");
                // The session's task is running, or has not started. It ends only after this line.
                end.store(true, Relaxed);
                session.wait(long).expect("it does not fail");
                assert_eq!(ran.into_inner(), 10);
            }
        }
    });
}

#[test]
fn a_leaf_waits_for_a_sessions_task() {
    limit(60, "one worker", || {
        for workers in 1..=2 {
            let rt = builder(workers).build().expect("in range");
            for _ in 0..sized(20, 200) {
                let session = rt.session();
                let task = session.spawn((), |()| 7);
                let seven = rt.scope(|s| s.wait(s.spawn((), move |()| session.wait(task)))).expect("nothing fails");
                assert_eq!(seven.expect("it does not fail").expect("it does not fail"), 7);
            }
        }
    });
}
