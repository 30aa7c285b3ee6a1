//! Futures as tasks, items, and quiescence.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use std::sync::{Mutex, OnceLock};
use std::task::{Poll, Waker};

use crate::common::rng::Rng;
use crate::common::{builder, limit};
use millpond::item::{CountedItem, Got, Item};
use millpond::{Closed, Engine, Error, ExternalTasks, Kind, ScopeHandle, Spawn, WaitError};

/// An item as a future.
async fn get<T>(item: &Item<T>) -> &T {
    poll_fn(|context| match item.get() {
        Some(value) => Poll::Ready(value),
        None if item.wake(context.waker()) => Poll::Pending,
        None => Poll::Ready(item.get().expect("it does not wait, so it is there")),
    })
    .await
}

/// How a task waits.
#[derive(Clone, Copy, Debug)]
enum Keeps {
    /// The future, from the start. It waits for the first item before it is polled.
    Pending,
    /// All items that it needs, before it starts.
    Precondition,
    Block,
    Stack,
}

const KEEPS: [Keeps; 4] = [Keeps::Pending, Keeps::Precondition, Keeps::Block, Keeps::Stack];

/// Item `i` is the sum of earlier items, plus 1.
struct Net {
    needs: Vec<Vec<usize>>,
    items: Vec<Item<u64>>,
}

impl Net {
    fn random(rng: &mut Rng, items: usize) -> Net {
        let needs = (0..items).map(|i| {
            let drawn = (0..4).map(|_| (i > 0 && rng.percent(40)).then(|| rng.below(i)));
            drawn.flatten().collect()
        });
        Net { needs: needs.collect(), items: (0..items).map(|_| Item::new()).collect() }
    }

    fn serial(&self) -> Vec<u64> {
        let mut values: Vec<u64> = Vec::new();
        for needs in &self.needs {
            values.push(needs.iter().fold(1, |sum: u64, &need| sum.wrapping_add(values[need])));
        }
        values
    }

    async fn compute(&self, i: usize) {
        let mut sum = 1_u64;
        for &need in &self.needs[i] {
            sum = sum.wrapping_add(*get(&self.items[need]).await);
        }
        self.items[i].put(sum).expect("put once");
    }

    fn start<'s, E: Engine + 's>(&'s self, external: ExternalTasks<'s, E>, i: usize, keeps: Keeps) {
        match keeps {
            Keeps::Precondition => {
                let pending = external.pending(move || {
                    let ready = pin!(self.compute(i)).poll(&mut std::task::Context::from_waker(Waker::noop()));
                    assert!(ready.is_ready(), "its preconditions are met");
                });
                self.needs[i].iter().for_each(|&need| self.items[need].wait(pending.hold()));
            }
            Keeps::Pending => {
                let pending = external.pending_future(self.compute(i));
                self.needs[i].iter().take(1).for_each(|&need| self.items[need].wait(pending.hold()));
            }
            Keeps::Block => drop(external.pending(move || external.run_future(self.compute(i)))),
            Keeps::Stack => {
                drop(external.pending(move || external.wait_in_place(self.compute(i)).expect("all are put")))
            }
        }
    }
}

#[test]
fn random_nets_give_the_serial_result() {
    limit(240, "random nets", || {
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let items = 1 + rng.below(400);
            let net = Net::random(&mut rng, items);
            let rt = builder(rng.pick(&[1, 2, 3, 8])).build().unwrap();
            let one = rng.below(KEEPS.len() + 1);
            rt.scope(|s| {
                let (external, net) = (s.external(), &net);
                let mut order: Vec<_> = (0..net.items.len()).collect();
                (1..order.len()).rev().for_each(|last| order.swap(last, rng.below(last + 1)));
                for i in order {
                    net.start(external, i, KEEPS.get(one).copied().unwrap_or_else(|| rng.pick(&KEEPS)));
                }
                s.quiesce();
                assert!(net.items.iter().all(|item| item.get().is_some()));
            })
            .unwrap();
            let values: Vec<_> = net.items.iter().map(|item| *item.get().unwrap()).collect();
            assert_eq!(values, net.serial(), "seed {seed}");
        }
    });
}

/// At quiescence, the tasks that wait for an item that is never put are left. If the item is
/// dropped, they fail.
#[test]
fn what_is_never_put() {
    limit(60, "what is never put", || {
        for (workers, keeps) in [1, 2, 8].into_iter().flat_map(|workers| KEEPS.map(|keeps| (workers, keeps))) {
            let rt = builder(workers).build().unwrap();
            let (missing, started) = (Mutex::new(Some(Box::new(Item::<u64>::new()))), AtomicUsize::new(0));
            // The tasks borrow an item that is dropped while they wait. So they access it under a
            // lock.
            let poll = || {
                poll_fn(|context| match &*missing.lock().unwrap() {
                    Some(item) if item.wake(context.waker()) => Poll::Pending,
                    _ => Poll::Ready(()),
                })
            };
            let error = rt
                .scope(|s| {
                    let external = s.external();
                    for _ in 0..100 {
                        let (poll, started) = (&poll, &started);
                        match keeps {
                            Keeps::Precondition => {
                                let pending = external.pending(|| unreachable!("never put"));
                                missing.lock().unwrap().as_ref().unwrap().wait(pending.hold());
                            }
                            Keeps::Pending => {
                                let pending = external.pending_future(async { unreachable!("never put") });
                                missing.lock().unwrap().as_ref().unwrap().wait(pending.hold());
                            }
                            Keeps::Block => drop(external.pending(move || {
                                _ = started.fetch_add(1, Relaxed);
                                external.run_future(poll());
                            })),
                            Keeps::Stack => drop(external.pending(move || {
                                _ = started.fetch_add(1, Relaxed);
                                assert_eq!(external.wait_in_place(poll()), Err(WaitError::Abandoned));
                            })),
                        }
                    }
                    s.quiesce();
                    let expected = if matches!(keeps, Keeps::Pending | Keeps::Precondition) { 0 } else { 100 };
                    assert_eq!(started.load(Relaxed), expected);
                    // A waiting task is woken, and polls the item again. The item no longer exists.
                    let item = missing.lock().unwrap().take();
                    drop(item);
                })
                .err();
            match keeps {
                Keeps::Stack => assert!(error.is_none()),
                _ => assert_eq!(error.as_ref().map(Error::kind), Some(&Kind::Abandoned)),
            }
        }
    });
}

/// The first of two items wakes a future that waits for either.
#[test]
fn either_of_two() {
    limit(60, "either of two", || {
        for workers in [1, 2] {
            let rt = builder(workers).build().unwrap();
            let (one, other, seen) = (Item::new(), Item::new(), Item::new());
            rt.scope(|s| {
                let (external, one, other, seen) = (s.external(), &one, &other, &seen);
                let either = move || async move {
                    let (mut one, mut other) = (pin!(get(one)), pin!(get(other)));
                    let first = poll_fn(|context| match one.as_mut().poll(context) {
                        Poll::Ready(value) => Poll::Ready(*value),
                        Poll::Pending => other.as_mut().poll(context).map(|value| *value),
                    });
                    seen.put(first.await).expect("put once");
                };
                drop(external.pending(move || external.run_future(either())));
                s.quiesce();
                assert_eq!(seen.get(), None);
                other.put(2).unwrap();
                assert_eq!(s.block_on_or_quiesce(get(seen)), Some(&2));
                // The future is complete, and its block may belong to another task. The other waker
                // does nothing.
                (0..100).for_each(|_| drop(s.spawn((), |()| ())));
                one.put(1).unwrap();
            })
            .unwrap();
        }
    });
}

/// The scope becomes quiet between the poll of a future and the check of the scope. Meanwhile the
/// future became ready.
#[test]
fn what_the_last_task_puts_is_seen() {
    limit(60, "what the last task puts", || {
        for _ in 0..20 {
            let (rt, item) = (builder(2).build().unwrap(), Item::new());
            let got = rt.scope(|s| {
                let (item, mut go) = (&item, None);
                let pending = s.external().pending(move || item.put(7).expect("put once"));
                go.replace(pending.hold());
                drop(pending);
                let mut item_gets = pin!(get(item));
                s.block_on_or_quiesce(poll_fn(move |context| {
                    let polled = item_gets.as_mut().poll(context);
                    if let Some(precondition) = go.take() {
                        // Another thread spawns it: this thread could keep its own tasks for
                        // itself.
                        std::thread::scope(|threads| drop(threads.spawn(|| precondition.satisfy()).join()));
                        while item.get().is_none() {
                            std::thread::yield_now();
                        }
                        // Time for the other worker to find that there is no work.
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    polled
                }))
            });
            assert_eq!(got.unwrap(), Some(&7));
        }
    });
}

/// A future that wakes itself is polled again. Other tasks run in between.
#[test]
fn wakes_itself() {
    limit(60, "wakes itself", || {
        for (workers, in_place) in [(1, false), (1, true), (2, false), (2, true)] {
            let (rt, turns) = (builder(workers).build().unwrap(), AtomicUsize::new(0));
            let stop = Item::new();
            rt.scope(|s| {
                let (external, turns, stop) = (s.external(), &turns, &stop);
                let spin = move || {
                    poll_fn(move |context| {
                        turns.fetch_add(1, Relaxed);
                        context.waker().wake_by_ref();
                        if stop.get().is_some() { Poll::Ready(()) } else { Poll::Pending }
                    })
                };
                drop(external.pending(move || match in_place {
                    false => external.run_future(spin()),
                    true => assert_eq!(external.wait_in_place(spin()), Ok(())),
                }));
                drop(external.pending(move || stop.put(()).unwrap()));
            })
            .unwrap();
            assert!(turns.into_inner() > 0);
        }
    });
}

#[test]
fn panics_and_cancellation() {
    limit(60, "panics and cancellation", || {
        let rt = builder(2).build().unwrap();
        let go = Item::new();
        let error = rt.scope(|s| {
            let (external, go) = (s.external(), &go);
            let task =
                move || external.task("late").index([3]).run_future(async move { panic!("after {}", get(go).await) });
            drop(external.pending(task));
            s.quiesce();
            go.put("it was put").unwrap();
        });
        assert_eq!(error.unwrap_err().to_string(), "task `late(3)` panicked: after it was put");

        // A future that waits in a cancelled scope is not polled again.
        let go = Item::new();
        let error = rt.scope(|s| {
            let (external, go) = (s.external(), &go);
            drop(external.pending(move || external.run_future(async move { unreachable!("{}", get(go).await) })));
            s.quiesce();
            s.cancel_token().cancel();
            go.put(0).unwrap();
        });
        assert_eq!(error.unwrap_err().kind(), &Kind::Cancelled);
    });
}

/// The scope waits for another thread, which satisfies a precondition after everything else has
/// ended.
#[test]
fn external_tasks_keep_the_scope() {
    limit(60, "external tasks keep the scope", || {
        for workers in [1, 2] {
            let (rt, ran) = (builder(workers).build().unwrap(), AtomicUsize::new(0));
            std::thread::scope(|threads| {
                rt.scope(|s| {
                    let (external, ran) = (s.external(), &ran);
                    for _ in 0..10 {
                        let pending = external.pending(move || _ = ran.fetch_add(1, Relaxed));
                        let (first, second) = (pending.hold(), pending.hold());
                        threads.spawn(move || {
                            std::thread::sleep(std::time::Duration::from_millis(5));
                            first.satisfy();
                        });
                        drop(external.pending(move || second.satisfy()));
                    }
                    s.quiesce();
                })
                .unwrap();
                assert_eq!(ran.load(Relaxed), 10);
            });
        }
    });
}

/// Each value is dropped once, after its last use, or the last use takes it.
#[test]
fn counted_items() {
    struct Dropped<'a>(&'a AtomicU64);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    limit(60, "counted items", || {
        let drops = AtomicU64::new(0);
        for round in 0..1000 {
            let (item, uses) = (CountedItem::new(), round % 5);
            item.put(Dropped(&drops), uses).ok().expect("put once");
            std::thread::scope(|threads| {
                let use_up = || match item.get() {
                    Got::Use(one) if round % 2 == 0 => drop(one.take().ok()),
                    Got::Use(one) => drop(one),
                    other => panic!("{}", matches!(other, Got::Missing)),
                };
                let all: Vec<_> = (0..uses).map(|_| threads.spawn(use_up)).collect();
                all.into_iter().for_each(|one| one.join().expect("no panic"));
            });
            assert!(matches!(item.get(), Got::UsedUp));
            assert_eq!(drops.load(Relaxed), u64::from(round) + 1, "{uses} uses");
            assert!(item.put(Dropped(&drops), 1).is_err());
            drops.fetch_sub(1, Relaxed);
        }
    });
}

/// Threads spawn tasks through a scope handle while its scope ends. Each task is refused, or runs
/// before the end of the scope.
#[test]
fn a_scope_handle_closes_after_the_last_task() {
    limit(120, "a scope handle that closes", || {
        for round in 0..200 {
            let rt = builder([1, 2, 3][round % 3]).build().unwrap();
            let (ran, accepted, ended) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
            let (handle, there) = (OnceLock::new(), AtomicBool::new(false));
            std::thread::scope(|threads| {
                let knock = || {
                    while !there.load(Acquire) {
                        std::thread::yield_now();
                    }
                    let handle: &ScopeHandle = handle.get().unwrap();
                    let body = || {
                        assert!(!ended.load(SeqCst));
                        // Within a task of the scope, the handle is open.
                        drop(handle.pending(|| _ = ran.fetch_add(1, Relaxed)).expect("open"));
                    };
                    while let Ok(pending) = handle.pending(body) {
                        drop(pending);
                        // A thread that spawns faster than the workers run tasks would keep the
                        // scope from ending. So each thread sleeps, longer after more tasks.
                        let before = accepted.fetch_add(1, Relaxed);
                        if before % 8 == 7 {
                            std::thread::sleep(std::time::Duration::from_micros(200 + before as u64));
                        }
                    }
                };
                let knocks = [(); 2].map(|()| threads.spawn(knock));
                rt.scope(|s| {
                    handle.set(s.scope_handle()).unwrap();
                    there.store(true, Release);
                    if round % 2 == 0 {
                        s.quiesce();
                    }
                })
                .unwrap();
                ended.store(true, SeqCst);
                knocks.into_iter().for_each(|knock| knock.join().unwrap());
            });
            assert_eq!(ran.load(Relaxed), accepted.load(Relaxed));
            assert_eq!(handle.get().unwrap().pending(|| ()).err(), Some(Closed));
        }
    });
}

/// A task of one scope is not a task of another. A task that waits in place is one of its scope
/// when it continues.
#[test]
fn scope_handles_are_told_apart() {
    limit(60, "two scope handles", || {
        for workers in [1, 2] {
            let (rt, other) = (builder(workers).build().unwrap(), builder(1).build().unwrap());
            let (outer, item, ran) = (OnceLock::new(), Item::new(), AtomicUsize::new(0));
            rt.scope(|s| {
                outer.set(s.scope_handle()).unwrap();
                let handle: &ScopeHandle = outer.get().unwrap();
                let (item, ran, other) = (&item, &ran, &other);
                for _ in 0..10 {
                    drop(handle.pending(move || {
                        let inner = OnceLock::new();
                        other
                            .scope(|s| {
                                inner.set(s.scope_handle()).unwrap();
                                let inner: &ScopeHandle = inner.get().unwrap();
                                drop(inner.pending(|| {
                                    // Under the lock: this task belongs to the inner scope.
                                    drop(handle.pending(|| _ = ran.fetch_add(1, Relaxed)).unwrap());
                                    inner.run_future(async { _ = ran.fetch_add(1, Relaxed) });
                                }));
                            })
                            .unwrap();
                        assert_eq!(handle.wait_in_place(get(item)), Ok(&7));
                        handle.run_future(async { _ = ran.fetch_add(*get(item).await, Relaxed) });
                    }));
                }
                s.quiesce();
                assert_eq!(ran.load(Relaxed), 20);
                item.put(7).unwrap();
            })
            .unwrap();
            assert_eq!(ran.into_inner(), 90);
        }
    });
}
