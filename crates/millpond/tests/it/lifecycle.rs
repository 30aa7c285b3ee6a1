//! Runtimes and scopes as programs use them: many, at the same time, nested, idle, and for a long
//! time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{alone, builder, join_all, limit, runtime, sized};
use millpond::{Handle, Idle, Inline, Runtime, Spawn};

fn count(rt: &Runtime, tasks: usize) -> usize {
    let sum = Handle::new(0);
    rt.scope(|s| {
        for _ in 0..tasks {
            s.spawn(sum.inout(), |sum| *sum += 1);
        }
    })
    .unwrap();
    sum.into_inner().unwrap()
}

#[test]
fn scopes_from_many_threads() {
    limit(60, "scopes from many threads", || {
        let rounds = sized(200, 2_000);
        for rt in [1, 2, 8].map(runtime) {
            thread::scope(|threads| {
                join_all(
                    (0..8)
                        .map(|_| threads.spawn(|| (0..rounds).for_each(|_| assert_eq!(count(&rt, 20), 20))))
                        .collect(),
                );
            });
        }
    });
}

#[test]
fn scopes_in_leaves_and_in_parents() {
    limit(60, "scopes in bodies", || {
        let n = sized(100, 1_000);
        for workers in [1, 2, 8] {
            for inline in [Inline::Auto, Inline::Never] {
                let rt = builder(workers).inline(inline).build().unwrap();
                let (rt, sum) = (&rt, Handle::new(0));
                rt.scope(|s| {
                    for _ in 0..n {
                        s.spawn(sum.commutative(), move |sum| *sum += count(rt, 5));
                        s.nest(sum.commutative(), move |s, mut sum| {
                            s.spawn(sum.inout(), move |sum| *sum += count(rt, 5));
                            let inner = count(rt, 5);
                            *s.wait_on(&mut sum).unwrap() += inner;
                        });
                    }
                })
                .unwrap();
                assert_eq!(sum.into_inner().unwrap(), 15 * n);
            }
        }
    });
}

#[test]
fn two_runtimes_used_by_one_thread() {
    limit(60, "two runtimes", || {
        for workers in [1, 2] {
            let (first, second) = (runtime(workers), runtime(workers));
            let sum = Handle::new(0);
            for _ in 0..50 {
                first.scope(|s| s.spawn(sum.inout(), |sum| *sum += 1).is_done()).unwrap();
                second.scope(|s| s.spawn(sum.inout(), |sum| *sum += 1).is_done()).unwrap();
            }
            first
                .scope(|s| {
                    for _ in 0..50 {
                        // From a closure, from a task, and back.
                        assert_eq!(second.scope(|_| count(&first, 3) + count(&second, 4)).unwrap(), 7);
                        s.spawn(sum.inout(), |sum| *sum += count(&second, 3) + count(&first, 4));
                    }
                })
                .unwrap();
            assert_eq!(sum.into_inner().unwrap(), 100 + 350);
        }
    });
}

#[test]
fn runtimes_that_come_and_go() {
    limit(60, "1000 runtimes", || {
        for i in 0..1000 {
            let rt = runtime(1 + i % 4);
            // Every other runtime is dropped before its threads have looked for work.
            if i % 2 == 0 {
                assert_eq!(count(&rt, 10), 10);
            }
        }
    });
}

/// Ready when another thread says so.
struct Told(Receiver<()>, Sender<Waker>);

impl Future for Told {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0.try_recv().is_ok() {
            return Poll::Ready(());
        }
        self.1.send(context.waker().clone()).expect("the other thread listens");
        // The other thread may have set it after the check. Then it calls the waker once too often.
        if self.0.try_recv().is_ok() { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// A thread that sets the flag and wakes, sometimes without a reason.
fn teller() -> Told {
    let ((tell, told), (give, get)) = (channel(), channel::<Waker>());
    thread::spawn(move || {
        let waker = get.recv().expect("a future is polled before it is dropped");
        waker.wake_by_ref();
        thread::yield_now();
        // The future may already be ready and dropped.
        let _ = tell.send(());
        waker.wake_by_ref();
        while let Ok(waker) = get.recv() {
            waker.wake();
        }
    });
    Told(told, give)
}

#[test]
fn wakers_called_by_foreign_threads() {
    limit(60, "foreign wakers", || {
        let n = sized(100, 500);
        for workers in [1, 2, 8] {
            let (rt, ran) = (runtime(workers), AtomicUsize::new(0));
            let ran = &ran;
            rt.scope(|s| {
                for _ in 0..n {
                    s.nest((), move |s, ()| {
                        s.spawn((), |()| _ = ran.fetch_add(1, Relaxed));
                        s.block_on(teller());
                        ran.fetch_add(1, Relaxed);
                    });
                    s.block_on(teller());
                }
            })
            .unwrap();
            assert_eq!(ran.load(Relaxed), 2 * n);
        }
    });
}

#[test]
fn joins_awaited_in_bodies() {
    limit(60, "awaited joins", || {
        for rt in [1, 2, 8].map(runtime) {
            let sum = rt.scope(|s| {
                let join = s.nest((), |s, ()| {
                    let joins: Vec<_> = (0..100_u64).map(|i| s.spawn((), move |()| i)).collect();
                    s.block_on(async {
                        let mut sum = 0;
                        for join in joins {
                            sum += join.await.unwrap();
                        }
                        sum
                    })
                });
                s.wait(join).unwrap()
            });
            assert_eq!(sum.unwrap(), 4950);
        }
    });
}

#[test]
fn sessions_used_by_many_threads() {
    limit(60, "sessions", || {
        let n = sized(500, 5_000);
        for rt in [1, 2, 8].map(runtime) {
            thread::scope(|threads| {
                join_all(
                    (0..8)
                        .map(|_| {
                            threads.spawn(|| {
                                let (session, sum) = (rt.session(), Handle::new(0));
                                for _ in 0..n {
                                    session.spawn(sum.inout(), |sum| *sum += 1);
                                }
                                let join = session.spawn(sum.read(), |sum| *sum);
                                assert_eq!(session.wait(join).unwrap(), n);
                                session.close().wait().unwrap();
                            })
                        })
                        .collect(),
                );
            });
        }
    });
}

#[test]
fn independent_tasks_of_a_session() {
    limit(60, "independent tasks of a session", || {
        for rt in [1, 2, 8].map(runtime) {
            for _ in 0..20 {
                let (session, ran) = (rt.session(), Arc::new(AtomicUsize::new(0)));
                for _ in 0..200 {
                    let ran = Arc::clone(&ran);
                    session.spawn((), move |()| _ = ran.fetch_add(1, Relaxed));
                }
                session.close().wait().unwrap();
                assert_eq!(ran.load(Relaxed), 200);
            }
        }
    });
}

#[test]
fn callers_that_leave_while_others_work() {
    limit(60, "callers that leave", || {
        for workers in [1, 2] {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            let ran = AtomicUsize::new(0);
            let (rt, ran) = (&rt, &ran);
            let parents = move || {
                rt.scope(|s| {
                    for _ in 0..100 {
                        s.nest((), move |s, ()| drop(s.spawn((), |()| _ = ran.fetch_add(1, Relaxed))));
                    }
                })
                .unwrap();
            };
            thread::scope(|threads| {
                join_all((0..4).map(|_| threads.spawn(move || (0..sized(50, 500)).for_each(|_| parents()))).collect());
            });
            assert_eq!(ran.load(Relaxed), 400 * sized(50, 500));
        }
    });
}

#[test]
fn external_tasks_used_by_foreign_threads() {
    limit(60, "external tasks", || {
        let n = sized(1_000, 10_000);
        for rt in [1, 2, 8].map(runtime) {
            let ran = AtomicUsize::new(0);
            let ran = &ran;
            rt.scope(|s| {
                let external = s.external();
                thread::scope(|threads| {
                    join_all(
                        (0..4)
                            .map(|_| {
                                threads.spawn(move || {
                                    for _ in 0..n {
                                        let pending = external.pending(|| _ = ran.fetch_add(1, Relaxed));
                                        let (first, second) = (pending.hold(), pending.hold());
                                        drop(pending);
                                        first.satisfy();
                                        second.satisfy();
                                    }
                                })
                            })
                            .collect(),
                    );
                });
            })
            .unwrap();
            assert_eq!(ran.load(Relaxed), 4 * n);
        }
    });
}

/// The processor time of each thread of a runtime, in clock ticks.
fn ticks_of_threads() -> Vec<u64> {
    let ticks = |stat: &str| -> Option<u64> {
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let mut fields = rest.split_whitespace().skip(11);
        let spent = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
        name.starts_with("millpond-").then_some(spent)
    };
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it");
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok())
        .filter_map(|stat| ticks(&stat))
        .collect()
}

fn clock_ticks_of_workers() -> u64 {
    ticks_of_threads().iter().sum()
}

/// Whether the workers stop using the processor. On a loaded machine this takes an unknown time.
fn comes_to_rest() -> bool {
    (0..20).any(|_| {
        thread::sleep(Duration::from_millis(50));
        let before = clock_ticks_of_workers();
        thread::sleep(Duration::from_millis(300));
        clock_ticks_of_workers() == before
    })
}

pub fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has a line for it");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}

#[test]
fn an_idle_runtime_uses_no_processor_time() {
    limit(60, "idle", || alone("lifecycle::idle_for_a_while", |_| false));
}

#[test]
fn memory_does_not_grow() {
    // Sanitizers keep freed memory, or a shadow of it.
    if cfg!(any(millpond_asan, millpond_tsan)) {
        return;
    }
    limit(60, "memory", || alone("lifecycle::tasks_for_a_while", |_| false));
}

#[test]
fn a_runtime_ends_with_all_its_threads() {
    limit(60, "threads", || alone("lifecycle::threads_end", |_| false));
}

#[test]
#[ignore = "run by `a_runtime_ends_with_all_its_threads`, in a process of its own"]
fn threads_end() {
    limit(50, "threads end", || {
        for workers in 1..4 {
            let rt = builder(workers).build().unwrap();
            // The caller waits for another thread, and lends its slot. So a spare thread starts.
            let (give, given) = channel::<millpond::Precondition>();
            let slow = thread::spawn(move || {
                let precondition = given.recv().unwrap();
                thread::sleep(Duration::from_millis(20));
                precondition.satisfy();
            });
            rt.scope(|s| give.send(s.external().pending(|| ()).hold()).unwrap()).unwrap();
            slow.join().unwrap();
            assert!(ticks_of_threads().len() >= workers);
            drop(rt);
            assert_eq!(ticks_of_threads().len(), 0, "{workers} workers");
        }
    });
}

#[test]
#[ignore = "run by `an_idle_runtime_uses_no_processor_time`, in a process of its own"]
fn idle_for_a_while() {
    limit(50, "a while idle", || {
        for idle in [Idle::Hybrid, Idle::Sleep] {
            let rt = builder(8).idle(idle).build().unwrap();
            let session = rt.session();
            assert_eq!(count(&rt, 1000), 1000);
            assert!(comes_to_rest());
            // In a scope whose closure also does something else.
            rt.scope(|s| {
                s.spawn((), |()| ());
                assert!(comes_to_rest());
            })
            .unwrap();
            session.close().wait().unwrap();
        }
        // The watchdog's thread checks nothing while no scope and no session is open.
        let rt = builder(2).watchdog(Duration::from_millis(1)).build().unwrap();
        assert_eq!(count(&rt, 1000), 1000);
        assert!(comes_to_rest());
    });
}

#[test]
#[ignore = "run by `memory_does_not_grow`, in a process of its own"]
fn tasks_for_a_while() {
    limit(50, "a while of tasks", || {
        // The runtime keeps blocks for the largest number of tasks that were in flight, and that
        // differs between rounds. With a small window it needs far less memory than the smallest
        // leak per task.
        const LEAST_LEAK: usize = 4;
        let (rounds, tasks) = (50, sized(3_000, 40_000));
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Auto)] {
            let rt = builder(workers).window(64).inline(inline).build().unwrap();
            let round = |_| {
                every_kind(&rt, tasks);
                resident_kib()
            };
            let [first, second] = [0, 1].map(|_| (0..rounds).map(round).max().unwrap());
            let grown = second.saturating_sub(first);
            let n = rounds * tasks;
            assert!(grown << 10 < LEAST_LEAK * n, "{grown} KiB more after {n} tasks on {workers} workers, {inline:?}");
        }
    });
}

/// Renames, reductions, joins, parents, and handles that are made and dropped.
fn every_kind(rt: &Runtime, tasks: usize) {
    let (value, sum) = (Handle::new(vec![0_u8; 64]), Handle::new(0));
    rt.scope(|s| {
        for i in 0..tasks / 7 {
            let own = s.handle(i);
            s.spawn((own.read(), sum.reduce(millpond::Sum)), |(own, sum)| *sum += own % 2);
            s.spawn(value.write(), |out| out.set(vec![1; 64]));
            s.spawn(value.read(), |value| assert_eq!(value[0], 1));
            let join = s.spawn(value.read(), |value| value.clone());
            s.nest((own.inout(), value.read()), |s, (own, value)| {
                s.spawn((own.inout(), value.read()), |(own, value)| *own += value.len());
                s.spawn(own.write(), |out| out.set(3));
            });
            if i % 64 == 0 {
                assert_eq!(s.wait(join).unwrap().len(), 64);
            }
        }
    })
    .unwrap();
}

/// A future that is ready when another task has run. Until then it asks to be polled again
/// immediately.
struct Impatient<'a>(&'a AtomicUsize);

impl Future for Impatient<'_> {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        if self.0.load(Relaxed) > 0 {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    }
}

#[test]
fn futures_that_wake_themselves() {
    limit(20, "impatient futures", || {
        for rt in [1, 2].map(runtime) {
            let (first, second) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let (first, second) = (&first, &second);
            rt.scope(|s| {
                s.nest((), |s, ()| s.block_on(Impatient(first)));
                s.nest((), |_, ()| _ = first.fetch_add(1, Relaxed));
                s.task("others").spawn((), |()| _ = second.fetch_add(1, Relaxed));
                s.block_on(Impatient(second));
            })
            .unwrap();
        }
    });
}
