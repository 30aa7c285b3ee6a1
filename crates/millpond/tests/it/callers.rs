//! Callers of scopes and users of sessions. There are more callers than seats, they nest, and they
//! wait for each other.

use std::future::poll_fn;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::thread;

use crate::common::{Mutex, builder, join_all, limit, runtime, sized};
use millpond::{Handle, Inline, Runtime, Spawn, Sum};

/// The number of callers: more than there are seats.
const MANY: usize = 12;

/// Runs a program that uses every feature of a scope. Returns the number of bodies.
fn program(rt: &Runtime) -> usize {
    let (sum, ran) = (Handle::new(0), AtomicUsize::new(0));
    let ran = &ran;
    rt.scope(|s| {
        for _ in 0..20 {
            s.spawn(sum.inout(), |sum| *sum += 1);
            s.spawn(sum.reduce(Sum), |sum| *sum += 1);
            s.nest(sum.commutative(), |s, mut sum| {
                s.spawn(sum.inout(), |sum| *sum += 1);
                *s.wait_on(&mut sum).unwrap() += 1;
            });
        }
        let join = s.spawn(sum.read(), |sum| *sum);
        assert_eq!(s.wait(join).unwrap(), 80);
        let external = s.external();
        thread::scope(|threads| {
            let meet = || {
                let pending = external.pending(|| _ = ran.fetch_add(1, Relaxed));
                pending.hold().satisfy();
            };
            join_all((0..2).map(|_| threads.spawn(move || (0..20).for_each(|_| meet()))).collect());
        });
    })
    .unwrap();
    assert_eq!((sum.into_inner().unwrap(), ran.load(Relaxed)), (80, 40));
    20 * 4 + 1 + 40
}

#[test]
fn callers_that_wait_for_each_other() {
    limit(60, "callers that wait for each other", || {
        for workers in [1, 2, 8] {
            let (rt, all) = (runtime(workers), Barrier::new(MANY));
            thread::scope(|threads| {
                let call = || {
                    for _ in 0..sized(5, 50) {
                        rt.scope(|s| {
                            let before = s.spawn((), |()| 1);
                            all.wait();
                            program(&rt);
                            assert_eq!(s.wait(before).unwrap(), 1);
                        })
                        .unwrap();
                    }
                };
                join_all((0..MANY).map(|_| threads.spawn(call)).collect());
            });
            let (bodies, rounds) = (program(&rt) as u64, (MANY * sized(5, 50)) as u64);
            let ran: u64 = rt.counts().iter().map(|counts| counts.tasks).sum();
            assert_eq!(ran, rounds * (bodies + 1) + bodies, "no bodies are left out");
            assert_eq!(rt.counts().len(), workers);
        }
    });
}

/// Opens nested scopes in a leaf, a parent or a closure. The scopes alternate between two runtimes.
fn deep(outer: &Runtime, inner: &Runtime, depth: usize) -> usize {
    if depth == 0 {
        return program(outer);
    }
    let next = move || deep(inner, outer, depth - 1);
    let sum = outer.scope(|s| match depth % 3 {
        0 => next(),
        1 => s.wait(s.spawn((), move |()| next())).unwrap(),
        _ => s.wait(s.nest((), move |s, ()| next() + s.wait(s.spawn((), |()| 0)).unwrap())).unwrap(),
    });
    sum.unwrap()
}

#[test]
fn runtimes_in_each_other() {
    limit(60, "runtimes in each other", || {
        for inline in [Inline::Auto, Inline::Never, Inline::Always] {
            for workers in [1, 2] {
                let [first, second] = [(); 2].map(|()| builder(workers).inline(inline).build().unwrap());
                for _ in 0..sized(2, 20) {
                    deep(&first, &second, 20);
                    deep(&first, &first, 20);
                }
                thread::scope(|threads| {
                    let both = [(&first, &second), (&second, &first)];
                    join_all(both.map(|(a, b)| threads.spawn(|| _ = deep(a, b, 20))).into_iter().collect());
                });
            }
        }
    });
}

#[test]
fn a_leaf_of_each_level_at_once() {
    limit(60, "leaves of each level", || {
        let rts = [runtime(2), runtime(2)];
        fn tree(rts: &[Runtime; 2], depth: usize, ran: &AtomicUsize) {
            ran.fetch_add(1, Relaxed);
            if depth > 0 {
                let branch = || tree(rts, depth - 1, ran);
                rts[depth % 2].scope(|s| (0..2).for_each(|_| drop(s.spawn((), move |()| branch())))).unwrap();
            }
        }
        for _ in 0..sized(1, 10) {
            let ran = AtomicUsize::new(0);
            tree(&rts, 8, &ran);
            assert_eq!(ran.into_inner(), (1 << 9) - 1);
        }
    });
}

#[test]
fn sessions_that_wait_for_each_other() {
    limit(60, "sessions that wait for each other", || {
        for workers in [1, 2] {
            let (rt, all) = (builder(workers).window(4).build().unwrap(), Barrier::new(MANY));
            thread::scope(|threads| {
                let call = || {
                    let (session, mut sum) = (rt.session(), Handle::new(0));
                    for i in 0..sized(20, 200) {
                        session.spawn(sum.inout(), |sum| *sum += 1);
                        session.spawn(sum.reduce(Sum), |sum| *sum += 1);
                        *session.wait_on(&mut sum).unwrap() += 1;
                        // Each one holds its caller context while the others wait.
                        session.block_on(async { all.wait() });
                        let join = session.spawn(sum.read(), |sum| *sum);
                        assert_eq!(session.wait(join).unwrap(), 3 * (i + 1));
                    }
                    session.close().wait().unwrap();
                };
                join_all((0..MANY).map(|_| threads.spawn(call)).collect());
            });
        }
    });
}

#[test]
fn a_session_in_a_scope_beyond_the_seats() {
    limit(60, "a session in a scope beyond the seats", || {
        let (rt, all) = (builder(1).window(4).build().unwrap(), Barrier::new(MANY));
        thread::scope(|threads| {
            let call = || {
                rt.scope(|s| {
                    all.wait();
                    let (session, sum) = (rt.session(), Handle::new(0));
                    (0..100).for_each(|_| drop(session.spawn(sum.inout(), |sum| *sum += 1)));
                    let join = s.nest((), |s, ()| s.wait(s.spawn((), |()| 5)).unwrap());
                    // The session waits for a task of the scope.
                    assert_eq!(session.block_on(join).unwrap(), 5);
                    let join = session.spawn(sum.read(), |sum| *sum);
                    assert_eq!(s.block_on(join).unwrap(), 100);
                    session.close().wait().unwrap();
                })
                .unwrap();
            };
            join_all((0..MANY).map(|_| threads.spawn(call)).collect());
        });
    });
}

/// A future that is pending until a test opens it.
#[derive(Default)]
struct Latch(Mutex<(bool, Option<Waker>)>);

impl Latch {
    fn open(&self) {
        let mut latch = self.0.lock();
        latch.0 = true;
        latch.1.take().expect("there is a waiter").wake();
    }

    fn is_waited_for(&self) -> bool {
        self.0.lock().1.is_some()
    }

    async fn pass(&self) {
        poll_fn(|context| {
            let mut latch = self.0.lock();
            latch.1 = Some(context.waker().clone());
            if latch.0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[test]
fn a_body_that_began_under_a_caller_which_has_left() {
    limit(20, "a body that outlasts a caller", || {
        let rts = [(); 2].map(|()| builder(1).inline(Inline::Never).build().unwrap());
        let [outer, inner] = &rts;
        let (latch, ran, open, close) = (&Latch::default(), &AtomicUsize::new(0), Barrier::new(2), Barrier::new(2));
        outer
            .scope(|s| {
                let body = s.nest((), move |s, ()| {
                    s.block_on(latch.pass());
                    inner.scope(|s| drop(s.spawn((), |()| ()))).unwrap();
                    ran.load(Relaxed)
                });
                // The body starts and waits while this thread is a caller of the other runtime.
                let begin = poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if latch.is_waited_for() { Poll::Ready(()) } else { Poll::Pending }
                });
                inner.scope(|_| s.block_on(begin)).unwrap();
                thread::scope(|threads| {
                    // Another thread now has the seat that this thread had, and keeps a task that
                    // only it can find.
                    let other = threads.spawn(|| {
                        inner
                            .scope(|s| {
                                s.spawn((), |()| _ = ran.fetch_add(1, Relaxed));
                                open.wait();
                                close.wait();
                            })
                            .unwrap();
                    });
                    open.wait();
                    latch.open();
                    let seen = s.wait(body).unwrap();
                    close.wait();
                    join_all(vec![other]);
                    assert_eq!((seen, ran.load(Relaxed)), (0, 1));
                });
            })
            .unwrap();
    });
}
