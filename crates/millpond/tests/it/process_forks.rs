//! The child of `fork(2)` has one thread: a runtime of the parent has no workers there, and nothing
//! waits for them.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{OnStack, alone, builder, limit, on_stack, runtime, sized};
use millpond::item::Item;
use millpond::record::{Event, Recorder, Sink, Track};
use millpond::{Engine, Handle, Inline, Kind, Runtime, Spawn, StackEngine, Sum};

#[test]
fn children_of_a_fork() {
    // ThreadSanitizer checks nothing in the child of a process with several threads: that child may
    // find locks of the sanitizer itself that another thread held.
    for test in [
        "sessions_in_a_child",
        "scopes_in_a_child",
        "waits_in_a_child",
        "scopes_that_fork",
        "waits_in_scopes_that_fork",
        "recordings_in_a_child",
        "forks_while_others_work",
    ] {
        alone(&format!("process_forks::{test}"), |_| false);
    }
}

/// Runs `child` in a child of this process, which must end well and within a minute.
fn in_child(child: impl FnOnce()) {
    // SAFETY: the child ends below, and runs what this test is about.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: no pointers. The signal ends a child that hangs.
        unsafe { libc::alarm(60) };
        // Without a stack trace: a sanitizer needs a minute to read its symbols.
        std::panic::set_hook(Box::new(|panic| eprintln!("in a child: {panic}")));
        let ended = catch_unwind(AssertUnwindSafe(child));
        // SAFETY: ends the process.
        unsafe { libc::_exit(if ended.is_ok() { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: a child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0, "the child has failed, or hangs");
}

fn is_forked<T: std::fmt::Debug>(result: Result<T, millpond::Error>) {
    assert_eq!(result.unwrap_err().kind(), &Kind::Forked);
}

/// Uses a scope as a program does. How many tasks have run.
fn use_scope<E: Engine>(rt: &Runtime<E>, numbers: &Handle<Vec<u64>>) -> u64 {
    let (sum, count) = (Handle::new(0), AtomicU32::new(0));
    let ran = rt.scope(|s| {
        for n in 0..200 {
            let count = &count;
            s.spawn(numbers.inout(), move |numbers| numbers.push(n));
            s.spawn((numbers.read(), sum.reduce(Sum)), move |(numbers, sum)| {
                count.fetch_add(1, Relaxed);
                *sum += numbers.last().unwrap();
            });
            s.nest((), move |s, ()| {
                let halves = millpond::join(|| 1, || 2);
                let inner = s.spawn((), move |()| count.fetch_add(halves.0, Relaxed));
                s.wait(inner).unwrap();
            });
        }
        s.wait(s.spawn(sum.read(), |sum| *sum)).unwrap()
    });
    assert_eq!(ran.unwrap(), 199 * 100);
    u64::from(count.into_inner())
}

fn one_scope_in_a_child<E: Engine>(rt: Runtime<E>) {
    let numbers = Handle::new(Vec::new());
    assert_eq!(use_scope(&rt, &numbers), 400);
    in_child(|| {
        for _ in 0..3 {
            assert_eq!(use_scope(&rt, &numbers), 400);
        }
        assert_eq!(rt.workers(), rt.counts().len());
        assert!(!rt.dump().kept);
        // Threads of the child are callers, too.
        thread::scope(|threads| {
            (0..4).for_each(|_| _ = threads.spawn(|| assert_eq!(use_scope(&rt, &Handle::new(Vec::new())), 400)));
        });
        in_child(|| assert_eq!(use_scope(&rt, &numbers), 400));
        // So is a runtime of the child, in its child.
        let own = runtime(2);
        let answer = own.session();
        assert_eq!(answer.wait(answer.spawn((), |()| 42)).unwrap(), 42);
        assert_eq!(use_scope(&own, &numbers), 400);
        in_child(|| {
            assert_eq!(use_scope(&own, &numbers), 400);
            is_forked(answer.wait(answer.spawn((), |()| ())));
        });
        drop(own);
        drop(answer);
        drop(rt);
    });
    assert_eq!(use_scope(&runtime(2), &numbers), 400);
}

#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn scopes_in_a_child() {
    limit(100, "scopes in the child of a fork", || {
        for workers in [1, 3] {
            one_scope_in_a_child(runtime(workers));
            one_scope_in_a_child(builder(workers).inline(Inline::Never).dumps(true).build().unwrap());
            one_scope_in_a_child(on_stack(workers));
        }
    });
}

/// Bodies that keep a lock over each kind of wait, and bodies that wait for what comes later: all
/// on one thread.
fn wait_in_scope<E: Engine>(rt: &Runtime<E>, bodies: u32) {
    let (here, lock, ran, late) = (thread::current().id(), Mutex::new(0), AtomicU32::new(0), Item::new());
    let is_here = || assert_eq!(thread::current().id(), here, "another thread works in the child");
    rt.scope(|s| {
        for _ in 0..bodies {
            let (late, lock, ran, is_here) = (&late, &lock, &ran, &is_here);
            s.nest((), move |s, ()| {
                s.block_on(poll_fn(|context| match late.get() {
                    None if late.wake(context.waker()) => Poll::Pending,
                    _ => Poll::Ready(()),
                }));
                is_here();
                ran.fetch_add(1, Relaxed);
            });
            s.nest((), move |s, ()| {
                let mut locked = lock.lock().unwrap();
                let mut own = s.handle(1);
                let (a, b) = millpond::join(is_here, || 2);
                drop(s.spawn(own.inout(), |own| *own += 1));
                let read = *s.wait_on(&mut own).unwrap() + s.wait(s.nest((), |_, ()| 3)).unwrap();
                let inner = rt.scope(|s| s.wait(s.nest((), |s, ()| s.wait(s.spawn((), |()| 4)).unwrap())).unwrap());
                *locked += read + b + inner.unwrap();
                ran.fetch_add(1, Relaxed);
                a
            });
        }
        s.spawn((), |()| late.put(()).unwrap());
    })
    .unwrap();
    assert_eq!((lock.into_inner().unwrap(), ran.into_inner()), (bodies * 11, bodies * 2));
}

fn waits_in_one_child<E: Engine>(rt: &Runtime<E>) {
    let (session, go) = (rt.session(), Arc::new(AtomicBool::new(false)));
    // At the fork bodies wait, and spare threads work in their place.
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let go = go.clone();
            session.nest((), move |s, ()| {
                let inner = s.spawn((), move |()| {
                    while !go.load(Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                s.wait(inner).unwrap();
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(20));
    for _ in 0..3 {
        in_child(|| {
            let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
            wait_in_scope(rt, 10);
            assert_eq!(threads(), 1, "a scope in the child of a fork has started threads");
            // A runtime of the child has its own.
            let own = runtime(2);
            assert_eq!(use_scope(&own, &Handle::new(Vec::new())), 400);
        });
    }
    go.store(true, Relaxed);
    waiting.into_iter().for_each(|join| session.wait(join).unwrap());
}

#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn waits_in_a_child() {
    limit(100, "waits in the child of a fork", || {
        for workers in [1, 3] {
            waits_in_one_child(&runtime(workers));
            waits_in_one_child(&builder(workers).inline(Inline::Never).build().unwrap());
            waits_in_one_child(&on_stack(workers));
        }
    });
}

/// A scope that was open at the fork: its tasks do not run in the child, whatever its closure does
/// there.
fn wait_in_open_scope<E: Engine>(rt: &Runtime<E>, ran: &AtomicU32) {
    let parent = std::process::id();
    let ended = rt.scope(|s| {
        let body = || {
            assert_eq!(std::process::id(), parent, "a task of the parent runs in the child");
            ran.fetch_add(1, Relaxed);
        };
        (0..20).for_each(|_| drop(s.nest((), move |_, ()| body())));
        let late = Arc::new(Item::new());
        in_child(|| {
            // More than the window holds.
            (0..200).for_each(|_| drop(s.nest((), move |_, ()| body())));
            assert_eq!(millpond::join(|| 1, || 2), (1, 2));
            let put = late.clone();
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                put.put(42).unwrap();
            });
            let answer = s.block_on(poll_fn(|context| match late.get() {
                None if late.wake(context.waker()) => Poll::Pending,
                _ => Poll::Ready(*late.get().unwrap()),
            }));
            assert_eq!(answer, 42);
            other.join().unwrap();
            // Waits there for a runtime of the child.
            let own = runtime(2);
            let session = own.session();
            assert_eq!(session.wait(session.spawn((), |()| 7)).unwrap(), 7);
            assert!(catch_unwind(AssertUnwindSafe(|| s.quiesce())).is_err());
            is_forked(s.wait(s.nest((), |_, ()| ())));
        });
    });
    ended.unwrap();
}

#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn waits_in_scopes_that_fork() {
    limit(100, "waits in scopes that were open at a fork", || {
        for workers in [1, 3] {
            let ran = AtomicU32::new(0);
            wait_in_open_scope(&builder(workers).inline(Inline::Never).window(64).build().unwrap(), &ran);
            wait_in_open_scope(
                &builder(workers).inline(Inline::Never).window(64).build_with::<StackEngine>().unwrap(),
                &ran,
            );
            assert_eq!(ran.into_inner(), 40);
        }
    });
}

/// How many events it was given.
#[derive(Default)]
struct Events(AtomicUsize);

impl Sink for Events {
    fn take(&self, _track: Track, events: &[Event]) {
        self.0.fetch_add(events.len(), Relaxed);
    }
}

/// A sink writes to what the parent has opened: it gets nothing in the child, and no lock is taken
/// for it.
#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn recordings_in_a_child() {
    limit(100, "recordings in the child of a fork", || {
        let (recorder, sink) = (Recorder::new(), Arc::new(Events::default()));
        let rt =
            builder(1).inline(Inline::Never).recorder(&recorder).watchdog(Duration::from_secs(60)).build().unwrap();
        let recording = recorder.add(sink.clone());
        let mut recording = Some(recording);
        rt.scope(|s| {
            in_child(|| {
                // More events than a worker keeps.
                (0..3000).for_each(|_| drop(s.spawn((), |()| ())));
                assert_eq!(use_scope(&rt, &Handle::new(Vec::new())), 400);
                recorder.drain();
                drop(recording.take());
                assert_eq!(sink.0.load(Relaxed), 0, "a sink of the parent is told of the child");
            });
        })
        .unwrap();
        drop(recording);
        assert!(sink.0.load(Relaxed) > 0);
    });
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn one_session_in_a_child<E: Engine>(rt: Runtime<E>) {
    let (session, kept, mut late) = (rt.session(), Handle::new(7), Handle::new(0));
    let (go, text) = (Arc::new(AtomicBool::new(false)), Handle::new(String::from("old")));
    let done = session.spawn(kept.read(), |kept| *kept);
    while !done.is_done() {
        thread::yield_now();
    }
    let mut running = session.spawn(late.inout(), {
        let go = go.clone();
        move |late| {
            while !go.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            *late += 1;
        }
    });
    let queued = session.spawn(late.read(), |late| *late);
    let (mut rt, mut session, mut joins) = (Some(rt), Some(session), Some((done, queued)));
    // The child has copies of all this, and uses them up.
    in_child(|| {
        let (rt, session, (done, queued)) = (rt.take().unwrap(), session.take().unwrap(), joins.take().unwrap());
        assert_eq!(session.wait(done).unwrap(), 7);
        assert!(matches!(poll(&mut running), Poll::Ready(Err(error)) if error.kind() == &Kind::Forked));
        is_forked(session.wait(queued));
        let error = session.wait(session.task("late").index([3]).spawn((), |()| ())).unwrap_err();
        assert_eq!((error.task().to_string(), error.kind()), ("late(3)".into(), &Kind::Forked));
        is_forked(session.wait(session.nest((), |_, ()| ())));
        is_forked(session.wait_on(&mut late).map(|late| *late));
        assert!(session.try_set(&text, String::from("new")).is_err());
        session.set(&text, String::from("new"));
        drop(session.spawn((), |()| ()));
        // What others than its tasks wake it for may be awaited.
        assert_eq!(session.block_on(std::future::ready(1)), 1);
        let new = rt.session();
        is_forked(new.wait(new.spawn((), |()| ())));
        let permit = match poll(&mut new.reserve()) {
            Poll::Ready(permit) => permit,
            Poll::Pending => panic!("no thread waits for room in a child"),
        };
        is_forked(new.wait(permit.spawn((), |()| ())));
        drop(permit);
        assert!(matches!(poll(&mut new.close()), Poll::Ready(Err(error)) if error.kind() == &Kind::Forked));
        rt.session().detach();
        is_forked(session.close().wait());
        assert_eq!(use_scope(&rt, &Handle::new(Vec::new())), 400);
        drop(rt);
    });
    // The parent has noticed nothing.
    go.store(true, Relaxed);
    let (session, (_, queued)) = (session.unwrap(), joins.unwrap());
    assert_eq!(session.wait(queued).unwrap(), 1);
    assert_eq!(session.wait_on(&mut late).map(|late| *late).unwrap(), 1);
    session.close().wait().unwrap();
}

#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn sessions_in_a_child() {
    limit(100, "sessions in the child of a fork", || {
        for workers in [1, 2] {
            one_session_in_a_child(runtime(workers));
            one_session_in_a_child(on_stack(workers));
        }
    });
}

fn fork_in_closure(rt: &Runtime, on_stack: &OnStack) {
    let mut value = Handle::new(1);
    let (held, lent) = (Handle::new(1), Handle::new(2));
    let forks = |wait: bool| {
        rt.scope(|s| {
            // Runs nowhere else than on a thief, if one takes it.
            let mut slow = Some(s.nest(held.inout(), |s, _| {
                s.spawn((), |()| thread::sleep(Duration::from_millis(50)));
            }));
            thread::sleep(Duration::from_millis(5));
            in_child(|| {
                assert_eq!(*lent.get().unwrap(), 2);
                if rt.workers() == 1 {
                    assert_eq!(held.get().unwrap_err().kind(), &Kind::Busy { arg: 0 });
                }
                // Works in the closure of another one, too.
                assert_eq!(use_scope(rt, &Handle::new(Vec::new())), 400);
                assert_eq!(use_scope(on_stack, &Handle::new(Vec::new())), 400);
                if wait {
                    is_forked(s.wait(slow.take().unwrap()));
                }
            });
        })
    };
    forks(false).unwrap();
    forks(true).unwrap();
    let mut status = 0;
    let pid = rt.scope(|s| {
        s.spawn(value.inout(), |value| *value += 1);
        // SAFETY: the child ends below.
        unsafe { libc::fork() }
    });
    match pid {
        Ok(0) => unreachable!("the scope of a child has not ended"),
        // The child.
        Err(error) => {
            let is_right = error.kind() == &Kind::Forked && rt.scope(|_| ()).is_ok();
            // SAFETY: ends the process.
            unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
        }
        Ok(pid) => {
            // SAFETY: a child, and a place for its status.
            assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
            assert_eq!((status, value.get_mut().ok()), (0, Some(&mut 2)));
        }
    }
}

#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn scopes_that_fork() {
    limit(100, "forks in the closures of scopes", || {
        for workers in [1, 3] {
            fork_in_closure(&runtime(workers), &on_stack(workers));
        }
    });
}

/// Whatever lock another thread has at the fork.
#[test]
#[ignore = "run by `children_of_a_fork`, in a process of its own"]
fn forks_while_others_work() {
    limit(200, "forks while others work", || {
        let (rt, ends) = (builder(3).inline(Inline::Never).build().unwrap(), AtomicBool::new(false));
        let lent = Handle::new(7);
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while !ends.load(Relaxed) {
                        use_scope(&rt, &Handle::new(Vec::new()));
                        assert_eq!(*lent.get().unwrap(), 7);
                        let session = rt.session();
                        (0..100).for_each(|_| drop(session.spawn((), |()| ())));
                    }
                });
            }
            let children = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..sized(30, 100) {
                    in_child(|| {
                        assert_eq!(use_scope(&rt, &Handle::new(Vec::new())), 400);
                        assert_eq!(*lent.get().unwrap(), 7);
                        let session = rt.session();
                        is_forked(session.wait(session.spawn((), |()| ())));
                    });
                }
            }));
            ends.store(true, Relaxed);
            children.unwrap_or_else(|failure| resume_unwind(failure));
        });
    });
}
