//! A body that continues for a long time keeps nothing from the other workers. Other workers can
//! find all its worker's tasks, and learn of all completions. It runs nothing on its stack that may
//! wait for its next steps.

use std::future::poll_fn;
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Mutex, builder, join_all, limit, sized};
use millpond::{Handle, Inline, Runtime, Session, Spawn};

/// Spins for a time. A turn of a spin loop takes 10 ns on one processor and 50 ns on another. The
/// run time of a kind's bodies determines what other workers can find.
fn busy(micros: u64) {
    let (start, length) = (Instant::now(), Duration::from_micros(micros));
    while start.elapsed() < length {
        hint::spin_loop();
    }
}

/// Polls until the count is at least `least`.
fn until(count: &AtomicU32, least: u32) -> impl Future<Output = ()> + '_ {
    poll_fn(move |context| {
        if count.load(SeqCst) >= least {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Spawns tasks that take a while and send their numbers. Returns the count of tasks that have run
/// so far.
fn senders(session: &Session, numbers: std::ops::Range<u32>, send: &Sender<u32>) -> Arc<AtomicU32> {
    let ran = Arc::new(AtomicU32::new(0));
    for n in numbers {
        let (send, ran) = (send.clone(), ran.clone());
        drop(session.spawn((), move |()| {
            busy(100);
            ran.fetch_add(1, SeqCst);
            send.send(n).unwrap();
        }));
    }
    ran
}

const TASKS: u32 = 400;
const SUM: u32 = TASKS * (TASKS - 1) / 2;

#[test]
fn what_a_closure_has_stolen_while_it_polled() {
    limit(60, "tasks stolen by a closure that polls and then blocks for them", || {
        for workers in [1, 2] {
            let rt = builder(workers).build().unwrap();
            for _ in 0..sized(5, 20) {
                let (session, (send, receive)) = (rt.session(), channel());
                let ran = senders(&session, 0..TASKS, &send);
                rt.scope(|s| {
                    s.block_on(until(&ran, 20));
                    assert_eq!(receive.iter().take(TASKS as usize).sum::<u32>(), SUM);
                })
                .unwrap();
                session.close().wait().unwrap();
            }
        }
    });
}

#[test]
fn a_completion_that_a_closure_has_collected_while_it_polled() {
    limit(60, "the end of a session whose last task a closure ran that then blocks", || {
        for workers in [1, 2] {
            let rt = builder(workers).build().unwrap();
            for _ in 0..sized(5, 20) {
                let ((send, receive), session, ran) = (channel(), rt.session(), Arc::new(AtomicU32::new(0)));
                for _ in 0..TASKS {
                    let ran = ran.clone();
                    drop(session.spawn((), move |()| {
                        busy(15);
                        ran.fetch_add(1, SeqCst);
                    }));
                }
                thread::scope(|threads| {
                    let closes = threads.spawn(move || {
                        session.close().wait().unwrap();
                        send.send(()).unwrap();
                    });
                    rt.scope(|s| {
                        s.block_on(until(&ran, TASKS));
                        receive.recv().unwrap();
                    })
                    .unwrap();
                    join_all(vec![closes]);
                });
            }
        }
    });
}

#[test]
fn what_was_taken_back_with_a_fork() {
    limit(60, "the second half of a fork that blocks for tasks which others saw", || {
        let [rt, away] = [(); 2].map(|()| builder(2).inline(Inline::Never).build().unwrap());
        for _ in 0..sized(5, 20) {
            let (session, (send, receive)) = (rt.session(), channel());
            rt.scope(|_| {
                senders(&session, 0..TASKS, &send);
                // The first half makes the fork visible to all workers.
                let wait = move || receive.iter().take(TASKS as usize).sum::<u32>();
                let ((), sum) = millpond::join(|| away.scope(|_| ()).unwrap(), wait);
                assert_eq!(sum, SUM);
            })
            .unwrap();
            session.close().wait().unwrap();
        }
    });
}

#[test]
fn what_was_stolen_with_a_fork() {
    limit(60, "a fork from a batch of stolen tasks that blocks for the others", || {
        let rt = builder(2).inline(Inline::Never).build().unwrap();
        for _ in 0..sized(5, 20) {
            let (first, second, (send, receive)) = (rt.session(), rt.session(), channel());
            rt.scope(|_| {
                senders(&first, 0..60, &send);
                let send = send.clone();
                let wait = move || receive.iter().take(TASKS as usize).sum::<u32>();
                let (second, sum) = millpond::join(
                    move || {
                        senders(&second, 60..TASKS, &send);
                        second
                    },
                    wait,
                );
                assert_eq!(sum, SUM);
                second.close().wait().unwrap();
            })
            .unwrap();
            first.close().wait().unwrap();
        }
    });
}

#[test]
fn one_worker_and_several_callers() {
    limit(60, "tasks behind a body that waits for them, one worker", || {
        for workers in [2, 1] {
            let rt = builder(workers).build().unwrap();
            for turn in 0..sized(5, 20) as u32 {
                one_waits_for_all(&rt, workers, turn);
            }
        }
    });
}

/// A task of a session waits until all other tasks of the session have run.
fn one_waits_for_all(rt: &Runtime, workers: usize, turn: u32) {
    let (session, count, go) = (rt.session(), Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    for _ in 0..workers {
        let go = go.clone();
        drop(session.spawn((), move |()| {
            while go.load(SeqCst) == 0 {
                thread::yield_now();
            }
        }));
    }
    thread::sleep(Duration::from_millis(5));
    for n in 0..300 {
        let count = count.clone();
        drop(session.spawn((), move |()| {
            busy(50);
            count.fetch_add(1, SeqCst);
            while n == 150 + turn && count.load(SeqCst) < 300 {
                thread::yield_now();
            }
        }));
    }
    go.store(1, SeqCst);
    rt.scope(|s| s.block_on(until(&count, 300))).unwrap();
    session.close().wait().unwrap();
}

#[test]
fn a_full_session_in_a_leaf_that_runs_at_its_spawn() {
    limit(60, "a spawn on a full session in an inline leaf", || {
        for inline in [Inline::Never, Inline::Always] {
            let rt = builder(2).window(1).inline(inline).build().unwrap();
            let (session, go) = (rt.session(), Arc::new(AtomicU32::new(0)));
            let seen = go.clone();
            drop(session.nest((), move |s, ()| s.block_on(until(&seen, 1))));
            let scope = rt.scope(|s| {
                let body = s.spawn((), move |()| {
                    drop(session.spawn((), |()| ()));
                    session
                });
                go.store(1, SeqCst);
                s.wait(body).unwrap()
            });
            scope.unwrap().close().wait().unwrap();
        }
    });
}

/// Fills the window of a scope that already holds parents. One of them waits for a later spawn.
macro_rules! fill_window {
    ($s:expr, $later:expr, $now:expr) => {{
        let seen = $now.clone();
        $s.nest((), move |s, ()| s.block_on(until(&seen, 1)));
        $s.nest($later.inout(), |s, _| {
            s.wait(s.spawn((), |()| thread::sleep(Duration::from_millis(20)))).unwrap();
        });
        (0..100).for_each(|_| drop($s.spawn($later.inout(), |n| *n += 1)));
        $now.store(1, SeqCst);
    }};
}

#[test]
fn a_full_window_runs_no_parent_on_the_spawners_stack() {
    limit(60, "a full window with a parent that waits for what its spawner does next", || {
        for workers in [1, 3] {
            for inline in [Inline::Never, Inline::Auto, Inline::Always] {
                for nested in [false, true] {
                    let rt = builder(workers).window(8).inline(inline).build().unwrap();
                    let (later, now) = (Handle::new(0_u32), Arc::new(AtomicU32::new(0)));
                    let scope = rt.scope(|s| {
                        if nested {
                            s.nest(later.inout(), |s, later| fill_window!(s, later, now));
                        } else {
                            fill_window!(s, later, now);
                        }
                    });
                    scope.unwrap();
                    assert_eq!(later.into_inner().unwrap(), 100);
                }
            }
        }
    });
}

/// A body that spawns parents does not run far ahead of them. Its window bounds parents like
/// leaves.
#[test]
fn the_window_of_a_body_bounds_its_parents() {
    limit(60, "a body with very many parents", || {
        let rt = builder(1).window(16).build().unwrap();
        let (ended, most) = (&AtomicU32::new(0), &AtomicU32::new(0));
        rt.scope(|s| {
            s.nest((), move |s, ()| {
                for n in 0..2000 {
                    s.nest((), move |_, ()| _ = ended.fetch_add(1, SeqCst));
                    most.fetch_max(n + 1 - ended.load(SeqCst), SeqCst);
                }
            });
        })
        .unwrap();
        assert!(most.load(SeqCst) <= 64, "{most:?} in flight in a window of 16");
    });
}

/// A closure that polls gets control back after each task. This holds although a body that was
/// resumed meanwhile finds endless work.
#[test]
fn a_closure_that_polls_during_a_stream_of_work() {
    limit(60, "ten polls during a stream of work", || {
        let rt = builder(1).inline(Inline::Never).build().unwrap();
        let (parked, open) = (&Mutex::new(None::<Waker>), &AtomicU32::new(0));
        let (ran, stop) = (&Arc::new(AtomicU32::new(0)), &AtomicU32::new(0));
        thread::scope(|threads| {
            let others = &Mutex::new(Vec::new());
            let scope = rt.scope(|s| {
                s.nest((), move |s, ()| {
                    s.block_on(poll_fn(|context| {
                        *parked.lock() = Some(context.waker().clone());
                        if open.load(SeqCst) == 1 { Poll::Ready(()) } else { Poll::Pending }
                    }));
                });
                // Waits until that body is suspended. Any number of tasks may run meanwhile.
                let mut first = true;
                s.block_on(poll_fn(|context| {
                    if parked.lock().is_some() {
                        return Poll::Ready(());
                    }
                    if std::mem::take(&mut first) {
                        let waker = context.waker().clone();
                        others.lock().push(threads.spawn(move || {
                            while parked.lock().is_none() {
                                thread::yield_now();
                            }
                            waker.wake();
                        }));
                    }
                    Poll::Pending
                }));
                let session = rt.session();
                others.lock().push(threads.spawn(move || {
                    while stop.load(SeqCst) == 0 {
                        let ran = ran.clone();
                        drop(session.spawn((), move |()| {
                            busy(50);
                            ran.fetch_add(1, SeqCst);
                        }));
                    }
                    session.close().wait().unwrap();
                }));
                // Time for the stream to grow.
                thread::sleep(Duration::from_millis(50));
                let (mut polls, before) = (0, ran.load(SeqCst));
                s.block_on(poll_fn(|context| {
                    polls += 1;
                    open.store(1, SeqCst);
                    if let Some(waker) = parked.lock().take() {
                        waker.wake();
                    }
                    context.waker().wake_by_ref();
                    if polls == 10 { Poll::Ready(()) } else { Poll::Pending }
                }));
                stop.store(1, SeqCst);
                ran.load(SeqCst) - before
            });
            // The spare thread runs some tasks at the same time. A loop without a bound would run
            // tens of thousands.
            let between = scope.unwrap();
            join_all(std::mem::take(&mut *others.lock()));
            assert!(between < 20_000, "{between} tasks between ten polls");
        });
    });
}
