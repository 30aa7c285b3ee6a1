//! What a program may say about a task or a runtime, other than its data: labels, priorities,
//! bytes, determinism.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crate::common::{Mutex, builder, limit, runtime};
use millpond::{BuildError, Handle, Inline, Reducer, Runtime, Spawn, Sum};

#[test]
fn labels() {
    limit(20, "labels", || {
        let rt = runtime(2);
        let label = |result: Result<(), millpond::Error>| result.unwrap_err().task().to_string();
        let h = &Handle::unset();
        let line = line!() + 1;
        let error = rt.scope(|s| drop(s.spawn(h.read(), |_| ())));
        assert_eq!(label(error), format!("{}:{line}", file!()));
        let error = rt.scope(|s| drop(s.task("potrf").spawn(h.read(), |_| ())));
        assert_eq!(label(error), "potrf");
        assert_eq!(label(rt.scope(|s| drop(trsm(s, 3, h)))), "trsm(3,5)");
        let error = rt.scope(|s| {
            drop(s.task("all").index([1, 2, 3, usize::MAX]).nest(h.read(), |_, _| ()));
        });
        assert_eq!(label(error), format!("all(1,2,3,{})", u32::MAX));
    });
}

fn trsm<'s, S: Spawn<'s, Brand = millpond::Root>>(s: &S, k: usize, h: &Handle<u32>) -> S::Join<()> {
    s.task("trsm").index([k, 5]).spawn(h.read(), |_| ())
}

#[test]
fn parts_of_a_label() {
    limit(20, "parts of a label", || {
        let rt = runtime(1);
        let error = rt.scope(|s| drop(s.task("gemm").index([1, 2]).spawn((), |()| panicking()))).unwrap_err();
        assert_eq!((error.task().name(), error.task().indices()), (Some("gemm"), &[1, 2][..]));
        assert!(rt.scope(|s| drop(s.spawn((), |()| panicking()))).unwrap_err().task().name().is_none());
    });
}

fn panicking() {
    std::panic::resume_unwind(Box::new("quiet"));
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack runs tasks in reference order")]
fn positive_priorities_overtake() {
    limit(20, "priorities", || {
        let rt = builder(1).inline(Inline::Never).build().unwrap();
        let order = Mutex::new(Vec::new());
        let note = |name: &'static str| order.lock().push(name);
        rt.scope(|s| {
            s.spawn((), |()| {
                note("plain");
            });
            s.task("low").priority(-1).spawn((), |()| note("low"));
            s.task("high").priority(1).spawn((), |()| note("high"));
            s.task("highest").priority(100).spawn((), |()| note("highest"));
        })
        .unwrap();
        let order = std::mem::take(&mut *order.lock());
        let at = |name| order.iter().position(|&other| other == name).unwrap();
        assert_eq!(order.len(), 4);
        assert!(at("highest").max(at("high")) < at("plain").min(at("low")), "{order:?}");
    });
}

/// The bytes that tasks hold at the same time, counted by the tasks.
#[derive(Default)]
struct Held {
    now: AtomicU64,
    most: AtomicU64,
    tasks: AtomicUsize,
}

impl Held {
    fn hold(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, SeqCst) + bytes;
        self.most.fetch_max(now, SeqCst);
        self.tasks.fetch_add(1, SeqCst);
        thread::sleep(Duration::from_micros(200));
        self.now.fetch_sub(bytes, SeqCst);
    }
}

#[test]
fn the_window_of_bytes_holds() {
    limit(30, "window of bytes", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).window_bytes(1000).inline(Inline::Never).build().unwrap();
            let held = &Held::default();
            rt.scope(|s| {
                for i in 0..200 {
                    let bytes = [300, 450, 0, 999][i % 4];
                    s.task("holds").bytes(bytes).spawn((), move |()| held.hold(bytes as u64));
                }
            })
            .unwrap();
            assert_eq!(held.tasks.load(SeqCst), 200);
            assert!(held.most.load(SeqCst) <= 1000);
        }
    });
}

#[test]
fn bytes_count_from_the_spawn_to_the_end() {
    limit(30, "bytes from the spawn", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).window_bytes(1000).inline(Inline::Never).build().unwrap();
            let (spawned, ended) = (AtomicU64::new(0), AtomicU64::new(0));
            rt.scope(|s| {
                for _ in 0..100 {
                    s.task("holds").bytes(400).spawn((), |()| _ = ended.fetch_add(400, SeqCst));
                    let outstanding = spawned.fetch_add(400, SeqCst) + 400;
                    // The body counts before its task is complete. So one task of slack is needed.
                    assert!(outstanding <= ended.load(SeqCst) + 1000);
                }
            })
            .unwrap();
        }
    });
}

#[test]
fn a_task_of_more_bytes_than_the_window_runs_alone() {
    limit(30, "more than the window", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).window_bytes(1000).inline(Inline::Never).build().unwrap();
            let held = &Held::default();
            rt.scope(|s| {
                for i in 0..50 {
                    let bytes = if i % 5 == 0 { 5000 } else { 500 };
                    s.task("holds").bytes(bytes).spawn((), move |()| held.hold(bytes as u64));
                }
            })
            .unwrap();
            assert_eq!(held.most.load(SeqCst), 5000);
        }
    });
}

#[test]
fn the_window_of_tasks_holds() {
    limit(30, "window of tasks", || {
        for workers in [1, 2, 8] {
            let rt = builder(workers).window(10).inline(Inline::Never).build().unwrap();
            let (spawned, ended) = (AtomicU64::new(0), AtomicU64::new(0));
            rt.scope(|s| {
                for _ in 0..1000 {
                    s.spawn((), |()| _ = ended.fetch_add(1, SeqCst));
                    let spawned = spawned.fetch_add(1, SeqCst) + 1;
                    assert!(spawned <= ended.load(SeqCst) + 10);
                }
            })
            .unwrap();
        }
    });
}

/// Short tasks wait for a body that waits for a later spawn. A full window does not wait for all
/// tasks.
#[test]
fn a_window_of_short_tasks_is_not_emptied_at_any_price() {
    limit(30, "a window of short tasks", || {
        for (workers, inline) in [(1, Inline::Auto), (3, Inline::Auto), (3, Inline::Always)] {
            let rt = builder(workers).window(8).inline(inline).build().unwrap();
            let (now, later) = (Handle::new(0), Handle::new(0));
            let add = |n: &mut u32| *n += 1;
            let (send, receive) = channel();
            let mut receive = Some(receive);
            rt.scope(|s| {
                // From here on, the kind is known to be short.
                (0..5000).for_each(|_| drop(s.spawn(now.inout(), add)));
                let last = receive.take().unwrap();
                s.nest((), move |s, ()| s.block_on(answer(last)));
                s.nest(later.inout(), |s, _| {
                    s.wait(s.spawn((), |()| thread::sleep(Duration::from_millis(50)))).unwrap()
                });
                (0..100).for_each(|_| drop(s.spawn(later.inout(), add)));
                send.send(()).unwrap();
            })
            .unwrap();
            assert_eq!((now.into_inner().unwrap(), later.into_inner().unwrap()), (5000, 100));
        }
    });
}

/// Makes a kind known to be short. Returns one of its tasks.
fn add(n: &mut u32) {
    *n += 1;
}

fn become_short<'s, S: Spawn<'s>>(s: &S, n: &Handle<u32, S::Brand>) {
    (0..10_000).for_each(|_| drop(s.spawn(n.inout(), add)));
    s.wait(s.spawn(n.inout(), |_| ())).unwrap();
}

/// While there is room, an owner whose tasks are short waits for none of them: the first one may
/// wait for the owner.
#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a wait in a stack waits for all earlier spawns")]
fn below_the_window_nothing_is_waited_for() {
    limit(30, "below the window", || {
        let rt = builder(2).window(256).build().unwrap();
        let (now, later) = (Handle::new(0), Handle::new(0));
        let (send, receive) = channel();
        rt.scope(|s| {
            become_short(s, &now);
            s.nest(later.inout(), move |s, _| s.block_on(answer(receive)));
            (0..31).for_each(|_| drop(s.spawn(later.inout(), add)));
            // So that the checks do not happen at quarters of the window.
            (0..100).for_each(|_| drop(s.spawn(now.inout(), add)));
            s.wait(s.spawn(now.inout(), |_| ())).unwrap();
            (0..219).for_each(|_| drop(s.spawn(later.inout(), add)));
            send.send(()).unwrap();
        })
        .unwrap();
        assert_eq!(later.into_inner().unwrap(), 250);
    });
}

/// The owner does not run a body that may wait, either. It runs only leaves of a kind that is known
/// to be short.
#[test]
fn below_the_window_nothing_is_run_that_may_wait() {
    limit(30, "what may wait below the window", || {
        let rt = builder(1).build().unwrap();
        let (now, later) = (Handle::new(0), Handle::new(0));
        let (send, receive) = channel();
        rt.scope(|s| {
            become_short(s, &now);
            s.nest(later.inout(), move |_, _| receive.recv().unwrap());
            (0..2100).for_each(|_| drop(s.spawn(later.inout(), add)));
            send.send(()).unwrap();
        })
        .unwrap();
        assert_eq!(later.into_inner().unwrap(), 2100);
        let rt = builder(2).build().unwrap();
        let (now, later, (send, receive)) = (Handle::new(0), Handle::new(0), channel());
        let (busy, go_on) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let spin_until = |flag: &AtomicUsize| {
            while flag.load(SeqCst) == 0 {
                thread::yield_now()
            }
        };
        rt.scope(|s| {
            become_short(s, &now);
            s.spawn((), move |()| {
                busy.store(1, SeqCst);
                spin_until(go_on);
            });
            // The other worker should get this task, so that the owner does not run it later. The
            // worker comes when there are many tasks. There must be few enough that the window does
            // not fill, since then the owner would run it.
            (0..500).for_each(|_| drop(s.nest((), |_, ()| ())));
            spin_until(busy);
            s.spawn(later.inout(), move |_| receive.recv().unwrap());
            (0..2100).for_each(|_| drop(s.spawn(later.inout(), add)));
            send.send(()).unwrap();
            go_on.store(1, SeqCst);
        })
        .unwrap();
        assert_eq!(later.into_inner().unwrap(), 2100);
    });
}

/// Polls instead of blocking.
fn answer(last: Receiver<()>) -> impl Future<Output = ()> {
    poll_fn(move |context| {
        if last.try_recv().is_ok() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// A sum whose last bits depend on the order.
fn sum(rt: &Runtime) -> u64 {
    let (total, product) = (Handle::new(0.1), Handle::new(1.0_f64));
    rt.scope(|s| {
        for i in 0..500 {
            let x = 1.0 / (1.0 + f64::from(i * 7919 % 1000));
            s.spawn(total.reduce(Sum), move |part| {
                *part += x;
                if i % 50 == 0 {
                    thread::yield_now();
                }
            });
            s.spawn(product.commutative(), move |product| *product = *product * 0.999 + x);
        }
    })
    .unwrap();
    let (total, product): (f64, f64) = (total.into_inner().unwrap(), product.into_inner().unwrap());
    total.to_bits() ^ product.to_bits().rotate_left(1)
}

#[test]
fn deterministic_sums_are_the_same_to_the_last_bit() {
    limit(30, "deterministic sums", || {
        let rt = |workers, inline| builder(workers).deterministic(true).inline(inline).build().unwrap();
        let expected = sum(&rt(1, Inline::Auto));
        for run in 0..20 {
            let inline = [Inline::Auto, Inline::Never, Inline::Always][run % 3];
            assert_eq!(sum(&rt(4, inline)), expected, "run {run}");
        }
    });
}

/// Collects members in the order of combination.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Concatenate;

impl Reducer<Vec<u32>> for Concatenate {
    fn identity(&self, _like: &Vec<u32>) -> Vec<u32> {
        Vec::new()
    }
    fn combine(&self, into: &mut Vec<u32>, part: Vec<u32>) {
        into.extend(part);
    }
}

#[test]
fn deterministic_reductions_follow_reference_order() {
    limit(30, "deterministic order", || {
        for workers in [1, 4] {
            let rt = builder(workers).deterministic(true).inline(Inline::Never).build().unwrap();
            let list = Handle::new(vec![u32::MAX]);
            rt.scope(|s| {
                for i in 0..100 {
                    s.nest(list.reduce(Concatenate), move |s, list| {
                        s.spawn(list.inout(), move |list| list.push(i));
                    });
                }
            })
            .unwrap();
            let expected: Vec<u32> = [u32::MAX].into_iter().chain(0..100).collect();
            assert_eq!(list.into_inner().unwrap(), expected);
        }
    });
}

#[test]
fn choices_out_of_range_name_the_range() {
    let text = |builder: millpond::Builder| match builder.build() {
        Err(error @ BuildError::OutOfRange { .. }) => error.to_string(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("built"),
    };
    assert_eq!(text(builder(0)), "workers is 0, must be 1 to 4096");
    assert_eq!(text(builder(4097)), "workers is 4097, must be 1 to 4096");
    assert_eq!(text(builder(1).window(0)), "window is 0, must be 1 to 281474976710655");
    assert_eq!(text(builder(1).window_bytes(0)), "window_bytes is 0, must be 1 to 18446744073709551615");
    for bytes in [1, (1 << 30) + 1] {
        let text = text(builder(1).stack_size(bytes));
        assert_eq!(text, format!("stack_size is {bytes}, must be 131072 to 1073741824"));
    }
}

/// The processors that the calling thread may use.
fn processors() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap().to_owned()
}

#[test]
fn a_binding_stays_in_its_runtime() {
    limit(20, "bindings", || {
        let all = processors();
        let rt = builder(2).pin(true).build().unwrap();
        // What the closure makes: a thread and a runtime.
        let of_runtime = |rt: &Runtime| {
            let session = rt.session();
            session.wait(session.spawn((), |()| processors())).unwrap()
        };
        let inner = rt.scope(|_| {
            assert_eq!(thread::spawn(processors).join().unwrap(), all);
            let inner = builder(2).build().unwrap();
            assert_eq!(of_runtime(&inner), all);
            inner
        });
        assert_eq!((of_runtime(&inner.unwrap()), processors()), (all.clone(), all.clone()));
        // What a body on a bound worker makes. Bodies of a session run on the threads of workers.
        let session = rt.session();
        let bound = session.spawn((), move |()| {
            let inner = Runtime::new().unwrap();
            let builder = builder(2).build().unwrap();
            (processors(), inner.workers(), of_runtime(&builder))
        });
        let (here, workers, inside) = session.wait(bound).unwrap();
        assert_eq!((workers, inside), (Runtime::new().unwrap().workers(), all.clone()));
        if Runtime::new().unwrap().workers() > 1 {
            assert_ne!(here, all, "the worker is bound");
        }
    });
}
