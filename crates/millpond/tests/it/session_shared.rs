//! Sessions that several threads and futures share, and waits for room in their windows.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::common::{builder, join_all, limit, must_not_run, on_stack, sized};
use millpond::{Engine, Handle, Inline, Kind, Permit, Runtime, Session, Spawn, Sum};

/// Wakes the polling thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

type Local<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A single-threaded executor. It polls all futures whenever one is woken.
fn run_all(futures: Vec<Local<'_>>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut futures = VecDeque::from(futures);
    while !futures.is_empty() {
        futures.retain_mut(|future| future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        if !futures.is_empty() {
            thread::park();
        }
    }
}

fn shared_by_threads<E: Engine>(rt: &Runtime<E>, n: usize) {
    let (session, hits, log) = (rt.session(), Handle::new(0_usize), Handle::new(Vec::<(usize, usize)>::new()));
    let total = Handle::new(0_u64);
    let feed = |who: usize| {
        for turn in 0..n {
            drop(session.spawn(hits.inout(), |hits| *hits += 1));
            drop(session.spawn(log.inout(), move |log: &mut Vec<_>| log.push((who, turn))));
            drop(session.spawn(total.reduce(Sum), |total| *total += 1));
            if turn % 16 == 0 {
                let join = session.nest(hits.read(), |s, mut hits| *s.wait_on(&mut hits).unwrap());
                // It comes after all earlier spawns of this thread.
                assert!(session.wait(join).unwrap() > turn);
            }
        }
    };
    let feed = &feed;
    thread::scope(|threads| {
        join_all((0..4).map(|who| threads.spawn(move || feed(who))).collect());
    });
    session.close().wait().unwrap();
    assert_eq!(hits.into_inner().unwrap(), 4 * n);
    assert_eq!(total.into_inner().unwrap(), 4 * n as u64);
    let log = log.into_inner().unwrap();
    for who in 0..4 {
        let turns: Vec<_> = log.iter().filter(|entry| entry.0 == who).map(|entry| entry.1).collect();
        assert_eq!(turns, (0..n).collect::<Vec<_>>(), "each thread's spawns are in its order");
    }
}

#[test]
fn threads_share_a_session() {
    limit(120, "a shared session", || {
        for workers in [1, 2, 8] {
            for window in [1, 7, 4096] {
                shared_by_threads(&builder(workers).window(window).build().unwrap(), sized(100, 1000));
            }
            shared_by_threads(&on_stack(workers), sized(100, 1000));
        }
    });
}

/// `set`, `try_set` and `wait_on` of several threads, on one datum and on their own.
#[test]
fn threads_set_values_in_one_session() {
    limit(120, "set in a shared session", || {
        for workers in [1, 2] {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            // In place: a value is set where readers read it.
            let (session, one) = (rt.session(), Handle::new([0_usize; 8]).in_place());
            let feed = |who: usize| {
                let mut own = Handle::new(0).in_place();
                for turn in 0..sized(100, 1000) {
                    session.set(&one, [8 * turn + who; 8]);
                    let whole = session.spawn(one.read(), |all| all.iter().all(|part| *part == all[0]));
                    _ = session.try_set(&one, [turn; 8]);
                    drop(session.spawn(own.inout(), |own| *own += 1));
                    assert_eq!(*session.wait_on(&mut own).unwrap(), turn + 1);
                    assert!(session.wait(whole).unwrap());
                }
            };
            let feed = &feed;
            thread::scope(|threads| {
                join_all((0..4).map(|who| threads.spawn(move || feed(who))).collect());
            });
            session.close().wait().unwrap();
        }
    });
}

/// Tasks of a session spawn on the shared session, and wait for their spawns.
#[test]
fn bodies_share_their_own_session() {
    limit(120, "a session shared with its bodies", || {
        for (workers, window) in [(1, 1), (1, 64), (2, 2), (4, 4096)] {
            let rt = builder(workers).window(window).build().unwrap();
            let (session, sum) = (Arc::new(rt.session()), Arc::new(Handle::new(0_usize)));
            let bodies: Vec<_> = (0..sized(20, 200))
                .map(|n| {
                    let (session_in, sum) = (session.clone(), sum.clone());
                    session.spawn((), move |()| {
                        let join = session_in.spawn((), move |()| n);
                        drop(session_in.spawn(sum.inout(), |sum| *sum += 1));
                        session_in.wait(join).unwrap()
                    })
                })
                .collect();
            let count = bodies.len();
            for (n, body) in bodies.into_iter().enumerate() {
                assert_eq!(session.wait(body).unwrap(), n);
            }
            let session = loop {
                // The runtime drops a closure just after its body.
                if Arc::strong_count(&session) == 1 {
                    break Arc::into_inner(session).unwrap();
                }
                thread::yield_now();
            };
            session.close().wait().unwrap();
            assert_eq!(Arc::into_inner(sum).unwrap().into_inner().unwrap(), count);
        }
    });
}

/// One thread is blocked in a spawn. Other threads continue to use the session, if they need no
/// room.
#[test]
fn a_spawn_that_waits_for_room_keeps_none_away() {
    limit(60, "a spawn that waits for room", || {
        let rt = builder(2).window(2).build().unwrap();
        let (session, x, mut y) = (rt.session(), Handle::new(0), Handle::new(5));
        let (go, may_go) = channel::<()>();
        drop(session.spawn(x.inout(), move |_| may_go.recv().unwrap()));
        drop(session.spawn(x.inout(), |_| ()));
        thread::scope(|threads| {
            let spawned = threads.spawn(|| drop(session.spawn(x.inout(), |_| ())));
            thread::sleep(std::time::Duration::from_millis(20));
            assert!(!spawned.is_finished());
            assert_eq!(*session.wait_on(&mut y).unwrap(), 5);
            assert_eq!(session.try_set(&y, 6), Ok(()));
            go.send(()).unwrap();
            join_all(vec![spawned]);
        });
        session.close().wait().unwrap();
    });
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn ready<F: Future>(future: Pin<&mut F>) -> F::Output {
    match poll(future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("there is room"),
    }
}

#[test]
fn a_full_window_is_awaited() {
    limit(60, "a full window", || {
        for workers in [1, 2] {
            let rt = builder(workers).window(4).build().unwrap();
            let (session, x) = (rt.session(), Handle::new(0));
            let (go, may_go) = channel();
            let first = session.spawn(x.inout(), move |_| may_go.recv().unwrap());
            let permit: Permit<'_> = ready(pin!(session.reserve()));
            drop(session.spawn(x.inout(), |x| *x += 1));
            drop(session.spawn(x.inout(), |x| *x += 1));
            // Three tasks and a permit: the window is full.
            let mut waits = pin!(session.reserve());
            assert!(poll(waits.as_mut()).is_pending());
            // The permit still has its place.
            let last = permit.task("last").spawn(x.inout(), |x| {
                *x += 1;
                *x
            });
            assert!(poll(waits.as_mut()).is_pending());
            {
                let mut given_up = pin!(session.reserve());
                assert!(poll(given_up.as_mut()).is_pending());
            }
            go.send(()).unwrap();
            let counted = rt.scope(|s| {
                s.block_on(async {
                    let permit = waits.await;
                    let join = permit.spawn(x.read(), |x| *x);
                    // The permit is used up: this spawn is an ordinary one.
                    drop(permit.spawn((), |()| ()));
                    first.await.unwrap();
                    (last.await.unwrap(), join.await.unwrap())
                })
            });
            assert_eq!(counted.unwrap(), (3, 3));
        }
    });
}

#[test]
fn a_permit_that_is_given_back_makes_room() {
    limit(60, "permits given back", || {
        let rt = builder(2).window(1).build().unwrap();
        let session = rt.session();
        let permit = ready(pin!(session.reserve()));
        let (mut one, mut other) = (pin!(session.reserve()), pin!(session.reserve()));
        assert!(poll(one.as_mut()).is_pending());
        assert!(poll(other.as_mut()).is_pending());
        drop(permit);
        let permit = ready(other.as_mut());
        assert!(poll(one.as_mut()).is_pending());
        thread::scope(|threads| {
            // A thread waits for the same place.
            let thread = threads.spawn(|| session.wait(session.spawn((), |()| 5)).unwrap());
            thread::sleep(std::time::Duration::from_millis(20));
            assert!(!thread.is_finished());
            drop(permit);
            assert_eq!(thread.join().unwrap(), 5);
        });
        drop(rt.scope(|s| s.block_on(one)).unwrap());
    });
}

#[test]
fn a_window_of_bytes_is_awaited() {
    limit(60, "a window of bytes", || {
        let rt = builder(1).window_bytes(100).build().unwrap();
        let (session, (go, may_go)) = (rt.session(), channel::<()>());
        drop(session.task("large").bytes(100).spawn((), move |()| may_go.recv().unwrap()));
        let mut waits = pin!(session.reserve());
        assert!(poll(waits.as_mut()).is_pending());
        go.send(()).unwrap();
        let answer = async { waits.await.task("more").bytes(40).spawn((), |()| 4).await };
        assert_eq!(rt.scope(|s| s.block_on(answer)).unwrap().unwrap(), 4);
    });
}

/// A single-threaded executor fills a session far beyond its window. The number of tasks in flight
/// stays within the window.
#[test]
fn one_thread_feeds_a_full_session() {
    limit(120, "a full session and one thread", || {
        for (workers, window) in [(1, 1), (2, 3), (2, 64)] {
            let rt = builder(workers).window(window).build().unwrap();
            let (session, log, turns) = (rt.session(), Handle::new(Vec::<(usize, usize)>::new()), sized(30, 300));
            let in_flight = Arc::new(AtomicUsize::new(0));
            let feed = |who: usize| {
                let (session, log, in_flight) = (&session, &log, in_flight.clone());
                let feed = async move {
                    for turn in 0..turns {
                        let permit = session.reserve().await;
                        assert!(in_flight.fetch_add(1, Relaxed) < window);
                        let ends = in_flight.clone();
                        let join = permit.spawn(log.inout(), move |log: &mut Vec<_>| {
                            log.push((who, turn));
                            _ = ends.fetch_sub(1, Relaxed);
                        });
                        if turn % 2 == 0 {
                            join.await.unwrap();
                        }
                    }
                };
                Box::pin(feed) as Local<'_>
            };
            run_all((0..16).map(feed).collect());
            session.close().wait().unwrap();
            assert_eq!(log.into_inner().unwrap().len(), 16 * turns);
        }
    });
}

/// Threads wait for room in all ways. Each one gets room.
#[test]
fn every_waiter_gets_room() {
    limit(120, "room for everybody", || {
        for (workers, window) in [(1, 1), (2, 2), (2, 5)] {
            let rt = builder(workers).window(window).build().unwrap();
            let (session, count) = (rt.session(), Handle::new(0_usize));
            let turns = sized(200, 2000);
            let feed = |who: usize| {
                for turn in 0..turns {
                    match (who + turn) % 3 {
                        0 => drop(session.spawn(count.inout(), |count| *count += 1)),
                        1 => run_all(vec![Box::pin(async {
                            drop(session.reserve().await.spawn(count.inout(), |count| *count += 1));
                        })]),
                        _ => run_all(vec![Box::pin(async {
                            drop(session.reserve().await);
                            drop(session.spawn(count.inout(), |count| *count += 1));
                        })]),
                    }
                }
            };
            let feed = &feed;
            thread::scope(|threads| {
                join_all((0..4).map(|who| threads.spawn(move || feed(who))).collect());
            });
            session.close().wait().unwrap();
            assert_eq!(count.into_inner().unwrap(), 4 * turns);
        }
    });
}

/// A thread that waits for room when the runtime is dropped continues, and is refused.
#[test]
fn a_runtime_is_dropped_while_others_wait_for_room() {
    limit(60, "room and the end of the runtime", || {
        for workers in [1, 2] {
            let rt = builder(workers).window(1).build().unwrap();
            let (session, x, (begins, begun)) = (rt.session(), Handle::new(0), channel());
            drop(session.spawn(x.inout(), move |_| {
                begins.send(()).unwrap();
                thread::sleep(std::time::Duration::from_millis(50));
            }));
            begun.recv().unwrap();
            thread::scope(|threads| {
                let (session, x) = (&session, &x);
                let blocked = threads.spawn(move || session.wait(session.spawn(x.inout(), |_| ())));
                let awaits = threads.spawn(move || {
                    run_all(vec![Box::pin(async {
                        // Each comes before the end, or is refused.
                        if let Err(error) = session.reserve().await.spawn(x.inout(), |_| ()).await {
                            assert_eq!(error.kind(), &Kind::Cancelled);
                        }
                    })]);
                });
                drop(rt);
                drop(blocked.join().unwrap());
                awaits.join().unwrap();
            });
            let late = session.spawn(x.inout(), |_| must_not_run());
            assert_eq!(session.wait(late).unwrap_err().kind(), &Kind::Cancelled);
        }
    });
}

fn is_shareable<T: Send + Sync>() {}

#[test]
fn what_is_shareable() {
    is_shareable::<Session>();
    is_shareable::<millpond::SessionJoin<u32>>();
    is_shareable::<millpond::Close>();
    is_shareable::<millpond::Reserve<'static>>();
}

/// The cost of a spawn on a thread outside: the numbers of `docs/decisions/0035`.
#[test]
#[ignore = "a measurement"]
fn cost() {
    const TASKS: u32 = 200_000;
    let rt = builder(1).window(1 << 20).build().unwrap();
    let once = || {
        let (session, started) = (rt.session(), std::time::Instant::now());
        (0..TASKS).for_each(|_| drop(session.spawn((), |()| ())));
        let taken = started.elapsed() / TASKS;
        session.close().wait().unwrap();
        taken
    };
    println!("{:?} a spawn", (0..15).map(|_| once()).min().unwrap());
}
