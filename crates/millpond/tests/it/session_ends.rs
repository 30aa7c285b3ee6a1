//! How sessions end: by a drop, `detach`, `close`, or with their runtime. No thread blocks unless
//! it requested that.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::rng::Rng;
use crate::common::{builder, join_all, limit, must_not_run, on_stack, sized};
use millpond::{Engine, Error, Handle, Inline, Kind, Runtime, Session, SessionJoin, Spawn};

/// A body that runs until it gets a message, and a channel that says that it has started.
struct Long {
    go: Sender<u32>,
    begun: Receiver<()>,
    join: SessionJoin<u32>,
}

impl Long {
    fn spawn<E: Engine>(session: &Session<E>, x: &Handle<u32>) -> Long {
        let ((go, may_go), (begins, begun)) = (channel(), channel());
        let join = session.spawn(x.inout(), move |x| {
            begins.send(()).unwrap();
            *x = may_go.recv().unwrap_or(0);
            *x
        });
        Long { go, begun, join }
    }

    /// Returns when the body is running.
    fn begin<E: Engine>(session: &Session<E>, x: &Handle<u32>) -> Long {
        let long = Self::spawn(session, x);
        long.begun.recv().unwrap();
        long
    }
}

fn kind<T>(result: Result<T, Error>) -> Kind {
    result.err().expect("it failed").kind().clone()
}

/// Counts its wakes.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Polls a future once, as a single-threaded executor does.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn with_every_runtime(test: impl Fn(usize)) {
    [1, 2, 4].into_iter().for_each(test);
}

fn dropped_while_a_body_runs<E: Engine>(rt: &Runtime<E>) {
    let (session, x) = (rt.session(), Handle::new(1));
    let long = Long::begin(&session, &x);
    let after = session.spawn(x.read(), |_| must_not_run());
    let parent = session.nest(x.read(), |_, _| must_not_run());
    // This thread also lets the body continue. If this call waited, it would never return.
    drop(session);
    long.go.send(7).unwrap();
    rt.scope(|s| {
        s.block_on(async {
            assert_eq!(long.join.await.unwrap(), 7, "a body that runs goes on");
            assert_eq!(kind::<()>(after.await), Kind::Cancelled);
            assert_eq!(kind::<()>(parent.await), Kind::Cancelled);
        });
    })
    .unwrap();
    // The claim on the handle ends with the session, after a short time.
    let value = loop {
        let read = rt.try_scope(|s| s.wait(s.spawn(x.read(), |x| *x)));
        match read.map_err(|error| error.kind().clone()) {
            Err(Kind::Busy { .. }) => thread::yield_now(),
            other => break other,
        }
    };
    assert_eq!(value, Ok(7));
}

#[test]
fn a_session_is_dropped_while_a_body_runs() {
    limit(60, "drop of a session", || {
        with_every_runtime(|workers| {
            dropped_while_a_body_runs(&builder(workers).build().unwrap());
            dropped_while_a_body_runs(&on_stack(workers));
        });
    });
}

/// The case of a timeout: the future that owns the session is dropped in the middle, on the
/// executor's only thread.
#[test]
fn a_future_is_dropped_that_owns_a_session() {
    limit(60, "drop of a future with a session", || {
        with_every_runtime(|workers| {
            let rt = builder(workers).build().unwrap();
            let ((go, may_go), (begins, begun)) = (channel::<()>(), channel());
            let mut request = Box::pin(async {
                let (session, x) = (rt.session(), Handle::new(0));
                let first = session.spawn(x.inout(), move |_| {
                    begins.send(()).unwrap();
                    may_go.recv().unwrap();
                });
                let second = session.spawn(x.inout(), |_| must_not_run());
                first.await?;
                second.await
            });
            assert!(poll_once(&mut request).is_pending());
            begun.recv().unwrap();
            drop(request);
            go.send(()).unwrap();
        });
    });
}

/// The future of `run_future` owns a session. A worker drops it, either because it is abandoned or
/// because a cancellation refuses it.
#[test]
fn a_future_task_is_dropped_that_owns_a_session() {
    limit(60, "drop of a future task with a session", || {
        with_every_runtime(|workers| {
            let (rt, world) = (builder(workers).build().unwrap(), builder(1).build().unwrap());
            let (x, y) = (Handle::new(0), Handle::new(0));
            let error = rt.scope(|s| {
                let (session, external) = (world.session(), s.external());
                let long = Long::begin(&session, &x);
                let join = session.spawn(x.read(), |_| must_not_run());
                drop(external.pending(move || {
                    external.run_future(async move {
                        // No task keeps its waker, so it is dropped immediately.
                        pending::<()>().await;
                        drop((session, join));
                    });
                }));
                s.quiesce();
                long.go.send(1).unwrap();
                s.block_on(long.join).unwrap();
            });
            assert_eq!(kind(error), Kind::Abandoned);
            let error = rt.scope(|s| {
                let (session, external, item) = (world.session(), s.external(), Arc::new(millpond::item::Item::new()));
                let long = Long::begin(&session, &y);
                let join = session.spawn(y.read(), |_| must_not_run());
                let waits = item.clone();
                drop(external.pending(move || {
                    external.run_future(async move {
                        poll_fn(|context| match waits.get() {
                            Some(()) => Poll::Ready(()),
                            None if waits.wake(context.waker()) => Poll::Pending,
                            None => Poll::Ready(()),
                        })
                        .await;
                        drop((session, join));
                    });
                }));
                s.quiesce();
                s.cancel_token().cancel();
                item.put(()).unwrap();
                s.quiesce();
                long.go.send(1).unwrap();
                s.block_on(long.join).unwrap();
            });
            assert_eq!(kind(error), Kind::Cancelled);
        });
    });
}

/// The only `Session` is in a body of its own, which drops it.
#[test]
fn a_body_drops_its_own_session() {
    limit(60, "a body with its session", || {
        with_every_runtime(|workers| {
            let (rt, x) = (builder(workers).build().unwrap(), Arc::new(Handle::new(0)));
            let (session, (send, receive)) = (rt.session(), channel::<Session>());
            let body = session.spawn(x.inout(), move |_| drop(receive.recv().unwrap()));
            let after = session.spawn(x.inout(), |_| must_not_run());
            send.send(session).unwrap();
            rt.scope(|s| {
                s.block_on(async {
                    body.await.unwrap();
                    assert_eq!(kind(after.await), Kind::Cancelled);
                });
            })
            .unwrap();
        });
    });
}

/// The first body waits, so a spare thread runs the second one. That thread cannot wait for itself,
/// either.
#[test]
fn a_body_on_a_spare_thread_drops_its_runtime() {
    limit(60, "a runtime dropped by a spare thread", || {
        with_every_runtime(|workers| {
            let rt = builder(workers).build().unwrap();
            let session = Arc::new(rt.session());
            let inside = session.clone();
            let first = session.spawn((), move |()| {
                let second = inside.spawn((), move |()| drop(rt));
                inside.wait(second)
            });
            session.wait(first).unwrap().unwrap();
        });
    });
}

#[test]
fn a_join_cancels_its_task_only() {
    limit(60, "cancelled by a join", || {
        with_every_runtime(|workers| {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            let (session, x, y, z) = (rt.session(), Handle::new(1), Handle::new(2), Handle::<u32>::unset());
            let long = Long::begin(&session, &x);
            long.join.cancel();
            let leaf = session.spawn((x.read(), y.inout()), |_| must_not_run());
            let reads = session.spawn(y.read(), |_| must_not_run());
            let parent = session.nest((x.read(), z.write()), |_, _| must_not_run());
            let other = session.spawn(x.read(), |x| *x);
            leaf.cancel();
            leaf.cancel();
            parent.cancel();
            long.go.send(5).unwrap();
            assert_eq!(session.wait(long.join).unwrap(), 5, "a body that runs goes on");
            assert_eq!(kind::<()>(session.wait(leaf)), Kind::Cancelled);
            assert!(matches!(kind::<()>(session.wait(reads)), Kind::Poisoned { .. }));
            assert_eq!(kind::<()>(session.wait(parent)), Kind::Cancelled);
            assert_eq!(session.wait(other).unwrap(), 5);
            // Complete tasks stay complete, and the session continues.
            let done = session.spawn((), |()| 3);
            while !done.is_done() {
                thread::yield_now();
            }
            done.cancel();
            assert_eq!(session.wait(done).unwrap(), 3);
            assert_eq!(kind(session.close().wait()), Kind::Cancelled);
            assert!(y.into_inner().is_err() && z.into_inner().is_err());
        });
    });
}

fn children_of_a_cancelled_parent<E: Engine>(rt: &Runtime<E>) {
    let (session, x) = (rt.session(), Handle::new(0));
    let ((begins, begun), (go, may_go)) = (channel(), channel::<()>());
    let parent = session.nest(x.inout(), move |s, x| {
        s.spawn(x.inout(), |x| *x += 1);
        begins.send(()).unwrap();
        may_go.recv().unwrap();
        s.nest(x.inout(), |_, _| must_not_run());
        s.spawn((), |()| must_not_run());
    });
    begun.recv().unwrap();
    parent.cancel();
    go.send(()).unwrap();
    assert_eq!(kind(session.wait(parent)), Kind::Cancelled);
    let other = session.nest((), |s, ()| s.wait(s.spawn((), |()| 4)).unwrap());
    assert_eq!(session.wait(other).unwrap(), 4, "another parent's children run");
    assert_eq!(kind(session.close().wait()), Kind::Cancelled);
}

#[test]
fn a_join_cancels_the_children_of_a_parent() {
    limit(60, "children of a cancelled parent", || {
        with_every_runtime(|workers| {
            children_of_a_cancelled_parent(&builder(workers).build().unwrap());
            children_of_a_cancelled_parent(&on_stack(workers));
        });
    });
}

#[test]
fn what_is_detached_runs() {
    limit(60, "a detached session", || {
        with_every_runtime(|workers| {
            let (rt, ran, x) = (builder(workers).build().unwrap(), Arc::new(AtomicUsize::new(0)), Handle::new(0));
            let (session, (done, all_done)) = (rt.session(), channel::<()>());
            let long = Long::begin(&session, &x);
            for _ in 0..20 {
                let (ran, done) = (ran.clone(), done.clone());
                session.nest(x.inout(), move |s, x| {
                    s.spawn(x.inout(), move |_| {
                        ran.fetch_add(1, Relaxed);
                        drop(done);
                    });
                });
            }
            drop(done);
            session.detach();
            assert_eq!(ran.load(Relaxed), 0);
            long.go.send(1).unwrap();
            assert!(all_done.recv().is_err(), "nothing is sent");
            assert_eq!(ran.load(Relaxed), 20);
        });
    });
}

#[test]
fn the_end_can_be_awaited() {
    limit(60, "close().await", || {
        with_every_runtime(|workers| {
            let (rt, x, count) = (builder(workers).build().unwrap(), Handle::new(0), Arc::new(Count::default()));
            let waker = Waker::from(count.clone());
            let session = rt.session();
            let long = Long::begin(&session, &x);
            session.task("first").spawn(x.inout(), |_| panic!("no luck"));
            session.task("second").spawn(x.read(), |_| must_not_run());
            let mut end = session.close();
            for _ in 0..3 {
                assert!(pin!(&mut end).poll(&mut Context::from_waker(&waker)).is_pending());
            }
            assert_eq!(count.0.load(Relaxed), 0);
            long.go.send(1).unwrap();
            while count.0.load(Relaxed) == 0 {
                thread::yield_now();
            }
            let Poll::Ready(result) = poll_once(&mut end) else { panic!("it was woken") };
            assert_eq!(result.unwrap_err().to_string(), "task `first` panicked: no luck");
            assert_eq!(count.0.load(Relaxed), 1, "woken once");
            // A session without tasks is ready immediately.
            assert!(matches!(poll_once(&mut rt.session().close()), Poll::Ready(Ok(()))));
        });
    });
}

#[test]
fn an_end_that_is_not_awaited_cancels() {
    limit(60, "drop of a close", || {
        with_every_runtime(|workers| {
            let (rt, x) = (builder(workers).build().unwrap(), Handle::new(0));
            let session = rt.session();
            let long = Long::begin(&session, &x);
            let after = session.spawn(x.inout(), |_| must_not_run());
            let mut end = session.close();
            assert!(poll_once(&mut end).is_pending());
            drop(end);
            long.go.send(1).unwrap();
            assert_eq!(kind(rt.scope(|s| s.block_on(after)).unwrap()), Kind::Cancelled);
        });
    });
}

/// Its drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("expected: a drop"));
    }
}

/// The drop of the runtime waits for running bodies, including those of dropped or detached
/// sessions. It cancels the rest.
#[test]
fn a_runtime_ends_its_sessions() {
    limit(60, "drop of a runtime", || {
        with_every_runtime(|workers| {
            let rt = builder(workers).build().unwrap();
            let (ran, x) = (Arc::new(AtomicUsize::new(0)), [(); 3].map(|()| Handle::new(0)));
            let (detached, kept) = (rt.session(), rt.session());
            let (begins, begun) = channel();
            let (count, after) = (ran.clone(), begins.clone());
            let body = detached.spawn(x[0].inout(), move |_| {
                after.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
                count.fetch_add(1, Relaxed);
            });
            begun.recv().unwrap();
            let queued = detached.spawn(x[0].inout(), |_| must_not_run());
            let waits = kept.spawn(x[1].inout(), |_| ());
            detached.detach();
            drop(rt);
            assert_eq!(ran.load(Relaxed), 1, "the runtime has waited");
            // Every waiter has an answer, without a thread.
            let block = |join: &mut SessionJoin<()>| match poll_once(join) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("all are complete"),
            };
            for mut join in [body, queued] {
                drop(block(&mut { join }));
            }
            drop(block(&mut { waits }));
            // A later spawn has one, too.
            let mut late = kept.spawn(x[1].inout(), |_| must_not_run());
            assert_eq!(kind(block(&mut late)), Kind::Cancelled);
            // Its captures are dropped. A panic in that drop is not a panic of the spawn.
            let bomb = Bomb;
            let mut late = kept.spawn((), move |()| drop(bomb));
            assert_eq!(kind(block(&mut late)), Kind::Cancelled);
            assert_eq!(kind(kept.wait(kept.spawn((), |()| must_not_run()))), Kind::Cancelled);
            assert_eq!(*kept.wait_on(&mut { Handle::new(4) }).unwrap(), 4);
            // By now another scope may have claimed the handles.
            kept.set(&x[2], 5);
            assert_eq!(kept.try_set(&x[2], 6), Err(6));
            assert_eq!(kind(kept.close().wait()), Kind::Cancelled);
            let [.., last] = x;
            assert_eq!(last.into_inner().unwrap(), 0);
        });
    });
}

#[test]
fn an_idle_session_outlives_its_runtime() {
    limit(60, "a session after its runtime", || {
        let rt = builder(2).build().unwrap();
        let session = rt.session();
        assert_eq!(session.wait(session.spawn((), |()| 1)).unwrap(), 1);
        let done = session.spawn((), |()| 2);
        while !done.is_done() {
            thread::yield_now();
        }
        drop(rt);
        assert_eq!(session.wait(done).unwrap(), 2);
        // The runtime may not have counted the end of the last task. Then that task counts as
        // cancelled.
        let ended = session.close().wait().map_err(|error| error.kind().clone());
        assert!(matches!(ended, Ok(()) | Err(Kind::Cancelled)), "{ended:?}");
    });
}

/// Like a forgotten session: it is not dropped, and some of its tasks have not started.
#[test]
fn a_session_that_is_kept_ends_with_its_runtime() {
    limit(60, "a session that is kept", || {
        with_every_runtime(|workers| {
            let (rt, x) = (builder(workers).build().unwrap(), Handle::new(0));
            let session = rt.session();
            let long = Long::begin(&session, &x);
            (0..10).for_each(|_| drop(session.spawn(x.inout(), |_| must_not_run())));
            let go = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                long.go.send(9).unwrap();
            });
            drop(rt);
            go.join().unwrap();
            drop(session);
        });
    });
}

/// A body is the last owner of its runtime. It cannot wait for itself.
#[test]
fn a_body_drops_its_own_runtime() {
    limit(60, "a body with its runtime", || {
        with_every_runtime(|workers| {
            let (rt, x) = (Arc::new(builder(workers).build().unwrap()), Handle::new(0));
            let ((give, take), session) = (channel::<Arc<Runtime>>(), rt.session());
            let body = session.spawn(x.inout(), move |_| drop(take.recv().unwrap()));
            let after = session.spawn(x.inout(), |_| must_not_run());
            give.send(rt).unwrap();
            assert_eq!(kind(session.wait(after)), Kind::Cancelled);
            session.wait(body).unwrap();
            assert_eq!(kind(session.close().wait()), Kind::Cancelled);
        });
    });
}

/// Reductions that are open when the session is dropped are combined or cancelled. Nothing is
/// leaked or freed twice.
#[test]
fn a_session_is_dropped_with_an_open_reduction() {
    limit(60, "open reductions", || {
        with_every_runtime(|workers| {
            let rt = builder(workers).build().unwrap();
            for turn in 0..sized(50, 500) {
                let (session, sum) = (rt.session(), Handle::new(0_u64));
                (0..10).for_each(|_| drop(session.spawn(sum.reduce(millpond::Sum), |sum| *sum += 1)));
                match turn % 3 {
                    0 => drop(session),
                    1 => session.detach(),
                    _ => session.close().wait().unwrap(),
                }
            }
        });
    });
}

/// Sessions end in all ways at the same time, while bodies run, joins are dropped, cancelled and
/// awaited, and others wait for room.
#[test]
fn sessions_that_end_in_any_way_at_any_time() {
    limit(240, "any end", || {
        for seed in 0..sized(20, 200) as u64 {
            let mut rng = Rng::new(seed);
            let rt = builder(rng.pick(&[1, 2, 3])).window(rng.pick(&[1, 3, 64])).build().unwrap();
            let ran = AtomicUsize::new(0);
            let live = |seed: u64| {
                let mut rng = Rng::new(seed);
                for _ in 0..20 {
                    live_once(&rt, &mut rng);
                    ran.fetch_add(1, Relaxed);
                }
            };
            let live = &live;
            thread::scope(|threads| {
                join_all((0..3).map(|n| threads.spawn(move || live(3 * seed + n))).collect());
            });
            // Some of its tasks are detached or cancelled, and not complete.
            drop(rt);
            assert_eq!(ran.into_inner(), 60);
        }
    });
}

fn live_once(rt: &Runtime, rng: &mut Rng) {
    let (session, x) = (rt.session(), Arc::new(Handle::new(0_usize)));
    let mut joins = Vec::new();
    for _ in 0..rng.below(12) {
        let spins = rng.below(400);
        let body = move |x: &mut usize| {
            (0..spins).for_each(|_| std::hint::spin_loop());
            *x += 1;
        };
        match rng.below(6) {
            0 => drop(session.nest(x.inout(), move |s, x| drop(s.spawn(x.inout(), body)))),
            1 => drop(session.spawn(x.inout(), body)),
            2 => {
                let mut permit = Box::pin(session.reserve());
                if let Poll::Ready(permit) = poll_once(&mut permit) {
                    joins.push(permit.spawn(x.inout(), body));
                }
            }
            _ => joins.push(session.spawn(x.inout(), body)),
        }
    }
    for join in joins {
        match rng.below(4) {
            0 => join.cancel(),
            1 => drop(session.wait(join)),
            2 => drop(poll_once(&mut { join })),
            _ => {}
        }
    }
    match rng.below(6) {
        0 => session.detach(),
        1 => drop(session.close().wait()),
        2 => drop(poll_once(&mut session.close())),
        3 => drop(rt.scope(|s| s.block_on(session.close()))),
        _ => drop(session),
    }
}
