//! Waits for a session in other places than its own thread: in bodies of its runtime and of another
//! one.

use std::hint;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

use crate::common::{builder, join_all, limit, sized};
use millpond::{Handle, Idle, Inline, Session, SessionJoin, Spawn};

/// How a body waits for a session's task.
type Wait = fn(&Session, SessionJoin<u32>) -> u32;

const WAITS: [Wait; 2] = [|session, join| session.wait(join).unwrap(), |session, join| session.block_on(join).unwrap()];

#[test]
fn a_task_that_waits_for_a_waiter_of_its_session() {
    limit(20, "a body under a task that waits for it", || {
        for wait in WAITS {
            let rt = builder(1).inline(Inline::Never).build().unwrap();
            let (first, second, x) = (rt.session(), rt.session(), Handle::new(0));
            let (send, receive) = channel::<SessionJoin<u32>>();
            let body = first.spawn(x.inout(), move |x| {
                let one = second.spawn((), |()| 1);
                let after = receive.recv().unwrap();
                // The newest task, so workers find it first.
                second.nest((), move |s, ()| assert_eq!(s.block_on(after).unwrap(), 2));
                *x = wait(&second, one) + 1;
                second
            });
            send.send(first.spawn(x.read(), |x| *x)).unwrap();
            first.wait(body).unwrap().close().wait().unwrap();
            first.close().wait().unwrap();
        }
    });
}

#[test]
fn tasks_that_spawn_on_their_own_full_session() {
    limit(60, "a full session in its tasks", || {
        for (workers, window) in [(1, 1), (2, 1), (2, 4)] {
            let rt = builder(workers).window(window).build().unwrap();
            let (session, sum) = (rt.session(), Arc::new(Handle::new(0)));
            let (send, receive) = channel::<Session>();
            let feed = {
                let sum = sum.clone();
                move |_: &mut u32| {
                    let session = receive.recv().unwrap();
                    (0..100).for_each(|_| drop(session.spawn(sum.inout(), |sum| *sum += 1)));
                    session
                }
            };
            // Its children can only run after it has ended.
            let body = session.spawn(sum.inout(), feed);
            send.send(session).unwrap();
            rt.scope(|s| s.block_on(body)).unwrap().unwrap().close().wait().unwrap();
            assert_eq!(Arc::into_inner(sum).unwrap().into_inner().unwrap(), 100);
        }
    });
}

/// Waits for a session in one of the possible ways.
fn wait_abroad(session: Session, turn: usize) {
    let mut x = Handle::new(0_u32);
    // When it is woken, the waiter sleeps or is about to.
    let spin = move |x: &mut u32| {
        (0..turn % 128).for_each(|_| hint::spin_loop());
        *x += 1;
    };
    let join = session.spawn(x.inout(), spin);
    match turn % 4 {
        0 => session.wait(join).unwrap(),
        1 => _ = *session.wait_on(&mut x).unwrap(),
        2 => (0..4).for_each(|_| drop(session.spawn(x.inout(), spin))),
        _ => {}
    }
    session.close().wait().unwrap();
}

#[test]
fn a_runtime_that_ends_right_after_it_waited_for_another() {
    limit(60, "a short life abroad", || {
        let home = builder(2).window(2).build().unwrap();
        let live = || {
            for turn in 0..sized(1000, 2000) {
                let idle = [Idle::Sleep, Idle::Hybrid, Idle::Busy][turn % 3];
                let (session, away) = (home.session(), builder(1).idle(idle).build().unwrap());
                if turn % 8 < 4 {
                    away.scope(|s| s.wait(s.nest((), move |_, ()| wait_abroad(session, turn)))).unwrap().unwrap();
                } else {
                    away.scope(|_| wait_abroad(session, turn)).unwrap();
                }
            }
        };
        thread::scope(|threads| join_all((0..3).map(|_| threads.spawn(live)).collect()));
    });
}

#[test]
fn a_body_of_another_runtime_waits_for_what_the_caller_spawned() {
    limit(20, "tasks left behind at home", || {
        for workers in [1, 2] {
            let [home, away] = [(); 2].map(|()| builder(workers).build().unwrap());
            for _ in 0..sized(20, 200) {
                let session = home.session();
                home.scope(|_| {
                    (0..200).for_each(|_| drop(session.spawn((), |()| hint::spin_loop())));
                    away.scope(|s| s.wait(s.nest((), |_, ()| session.close().wait().unwrap()))).unwrap().unwrap();
                })
                .unwrap();
            }
        }
    });
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An executor that does not know the runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), Arc::new(Unpark(thread::current())).into());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn an_executor_blocks_the_caller_of_a_scope() {
    limit(20, "a foreign executor", || {
        let rt = builder(2).inline(Inline::Never).build().unwrap();
        let count = AtomicU32::new(0);
        for _ in 0..sized(20, 200) {
            let session = rt.session();
            rt.scope(|s| {
                (0..100).for_each(|_| drop(s.spawn((), |()| count.fetch_add(1, Relaxed))));
                assert_eq!(block_on(s.spawn((), |()| 5)).unwrap(), 5);
                (0..100).for_each(|_| drop(session.spawn((), |()| hint::spin_loop())));
                assert_eq!(block_on(session.spawn((), |()| 6)).unwrap(), 6);
            })
            .unwrap();
        }
    });
}

#[test]
fn what_a_closure_has_put_runs_while_it_is_away() {
    limit(20, "tasks of a scope whose closure is abroad", || {
        let [home, away] = [(); 2].map(|()| builder(2).inline(Inline::Never).build().unwrap());
        for _ in 0..sized(20, 200) {
            let ran = AtomicU32::new(0);
            home.scope(|s| {
                (0..200).for_each(|_| drop(s.spawn((), |()| ran.fetch_add(1, Relaxed))));
                away.scope(|_| while_less(&ran, 200)).unwrap();
            })
            .unwrap();
        }
    });
}

#[test]
fn what_a_closure_has_put_into_a_session_runs_while_it_blocks() {
    limit(20, "tasks of a session whose spawner blocks", || {
        let rt = builder(2).inline(Inline::Never).build().unwrap();
        for _ in 0..sized(20, 200) {
            let (session, (send, receive)) = (rt.session(), channel());
            rt.scope(|_| {
                for n in 0..200 {
                    let send = send.clone();
                    drop(session.spawn((), move |()| send.send(n).unwrap()));
                }
                assert_eq!(receive.iter().take(200).sum::<u32>(), 199 * 100);
            })
            .unwrap();
        }
    });
}

/// While it waited for one task, it has run some of them itself, and stolen more.
#[test]
fn what_a_closure_has_stolen_runs_while_it_blocks() {
    limit(20, "tasks of a session in the deque of a scope's closure", || {
        for workers in [1, 2] {
            let rt = builder(workers).build().unwrap();
            for _ in 0..sized(5, 20) {
                let (session, (send, receive), (waits, waited)) = (rt.session(), channel(), channel());
                let feed = move || {
                    for n in 0..400 {
                        let send = send.clone();
                        let task = session.spawn((), move |()| {
                            (0..3000).for_each(|_| hint::spin_loop());
                            send.send(n).unwrap();
                        });
                        if n == 100 {
                            waits.send(task).unwrap();
                        }
                    }
                    session.close().wait().unwrap();
                };
                thread::scope(|threads| {
                    let feeder = threads.spawn(feed);
                    rt.scope(|s| {
                        s.block_on(waited.recv().unwrap()).unwrap();
                        assert_eq!(receive.iter().take(400).sum::<u32>(), 399 * 200);
                    })
                    .unwrap();
                    join_all(vec![feeder]);
                });
            }
        }
    });
}

#[test]
fn a_session_with_a_window_of_one() {
    limit(60, "a window of one", || {
        let rt = builder(2).window(1).build().unwrap();
        let (session, count) = (rt.session(), Arc::new(Handle::new(0)));
        let turns = sized(5_000, 50_000);
        (0..turns).for_each(|_| drop(session.spawn(count.inout(), |count| *count += 1)));
        session.close().wait().unwrap();
        assert_eq!(Arc::into_inner(count).unwrap().into_inner().unwrap(), turns);
    });
}

fn while_less(count: &AtomicU32, than: u32) {
    while count.load(Relaxed) < than {
        thread::yield_now();
    }
}

#[test]
fn a_session_sets_a_value_unless_it_would_wait() {
    limit(20, "try_set of a session", || {
        for workers in [1, 2] {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            let (session, n) = (rt.session(), Handle::new(1).in_place());
            let (go, may_read) = channel::<()>();
            let old = session.spawn(n.read(), move |n| {
                may_read.recv().unwrap();
                *n
            });
            assert_eq!(session.try_set(&n, 2), Err(2), "a reader has not run");
            go.send(()).unwrap();
            assert_eq!(session.wait(old).unwrap(), 1);
            assert_eq!(session.try_set(&n, 3), Ok(()));
            let new = session.spawn(n.read(), |n| *n);
            assert_eq!(session.wait(new).unwrap(), 3);
            session.close().wait().unwrap();
        }
    });
}
