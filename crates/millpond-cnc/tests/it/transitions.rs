//! The states of a step (FP Figure 1): *prescribed, ready, running, blocked, finished*. Eager steps
//! are never prescribed, and strict ones are never blocked. Flexible ones may be both.

use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{limited, runtime};
use millpond_cnc::{Blocked, Graph, Limit, Preconditions, Settings, graph_with};

use Event::{Began, Ended, Got, Prescribed};

/// An observation of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The graph asked for its preconditions.
    Prescribed,
    Began,
    Got(u32),
    Ended,
}

/// The actions of a step, and the number of polls of its body.
#[derive(Default)]
struct Seen {
    events: Mutex<Vec<Event>>,
    polls: AtomicUsize,
}

impl Seen {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    /// The new observations since the last call.
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// A body that counts its polls.
    async fn counted(&self, body: impl Future<Output = ()>) {
        let mut body = pin!(body);
        std::future::poll_fn(|context| {
            self.polls.fetch_add(1, Ordering::Relaxed);
            body.as_mut().poll(context)
        })
        .await;
    }
}

/// A step that needs items 1 and 2, and declares them. They are put one by one, each when nothing
/// else is left to do. Returns the observations after it was prescribed, after item 1 was put, and
/// after item 2 was put.
fn stages<'env>(g: &Graph<'_, '_, 'env>, seen: &'env Seen) -> [Vec<Event>; 3] {
    let (items, tags) = (g.items::<u32, ()>("item"), g.tags("tags"));
    let step = g.steps::<()>("step").preconditions(move |&(), need| {
        seen.note(Prescribed);
        (1..=2).for_each(|key| need.wait_on(items, key));
    });
    tags.prescribes(step.execute(move |()| {
        seen.counted(async move {
            seen.note(Began);
            for key in 1..=2 {
                items.get(key).await;
                seen.note(Got(key));
            }
            seen.note(Ended);
        })
    }));
    tags.put(());
    g.wait().unwrap();
    let prescribed = seen.take();
    items.put(1, ());
    g.wait().unwrap();
    let one = seen.take();
    items.put(2, ());
    g.wait().unwrap();
    [prescribed, one, seen.take()]
}

/// Runs that step in a mode, for any number of workers. A body that waits on a stack was polled
/// once without a waker. The first body of a flexible collection waits like that.
fn check(preconditions: Preconditions, limit: Limit, blocked: Blocked, expected: [&[Event]; 3], polls: usize) {
    // A check of gets would ask for the preconditions again.
    let settings = Settings { preconditions, blocked, limit, check_gets: false, ..Settings::default() };
    let on_stack = match (preconditions, blocked) {
        (Preconditions::Strict, _) | (_, Blocked::Replay) | (Preconditions::Eager, Blocked::Resume) => false,
        (Preconditions::Eager, Blocked::Fiber) | (Preconditions::Flexible, _) => true,
    };
    // After one poll, it has not waited.
    let polls = polls + usize::from(on_stack && polls > 1);
    for workers in [1, 2, 8] {
        let seen = Seen::default();
        let stages = graph_with(&runtime(workers), settings, |g| stages(g, &seen)).unwrap();
        assert_eq!(stages, expected, "{settings:?}, {workers} workers");
        assert_eq!(seen.polls.into_inner(), polls, "{settings:?}, {workers} workers");
    }
}

const RESUMED: [Blocked; 2] = [Blocked::Resume, Blocked::Fiber];
const EVERY: [Blocked; 3] = [Blocked::Resume, Blocked::Fiber, Blocked::Replay];
const LIMITS: [Limit; 3] = [Limit::All, Limit::First(1), Limit::First(0)];

/// Figure 1a: ready, running, blocked and running in turn, finished. The graph never asks for its
/// preconditions.
#[test]
fn eager_steps_are_never_prescribed() {
    limited(|| {
        for limit in LIMITS {
            for blocked in RESUMED {
                check(Preconditions::Eager, limit, blocked, [&[Began], &[Got(1)], &[Got(2), Ended]], 3);
            }
            let replayed: [&[Event]; 3] = [&[Began], &[Began, Got(1)], &[Began, Got(1), Got(2), Ended]];
            check(Preconditions::Eager, limit, Blocked::Replay, replayed, 3);
        }
    });
}

/// Figure 1b: prescribed, ready, running, finished. The body is polled once.
#[test]
fn strict_steps_are_never_blocked() {
    limited(|| {
        for limit in LIMITS {
            for blocked in EVERY {
                let expected: [&[Event]; 3] = [&[Prescribed], &[], &[Began, Got(1), Got(2), Ended]];
                check(Preconditions::Strict, limit, blocked, expected, 1);
            }
        }
    });
}

/// Figure 1c with a list of one item: prescribed until the first item is there, blocked until the
/// second one is.
#[test]
fn flexible_steps_are_prescribed_and_blocked() {
    limited(|| {
        let first = Limit::First(1);
        for blocked in RESUMED {
            check(Preconditions::Flexible, first, blocked, [&[Prescribed], &[Began, Got(1)], &[Got(2), Ended]], 2);
        }
        let replayed: [&[Event]; 3] = [&[Prescribed], &[Began, Got(1)], &[Began, Got(1), Got(2), Ended]];
        check(Preconditions::Flexible, first, Blocked::Replay, replayed, 2);
    });
}

/// "Behavior identical to the eager model if the preconditions list is empty and identical to the
/// strict model when the list includes all dataflow dependences" (FP §III).
#[test]
fn flexible_is_eager_and_strict_at_its_ends() {
    limited(|| {
        for blocked in EVERY {
            let all: [&[Event]; 3] = [&[Prescribed], &[], &[Began, Got(1), Got(2), Ended]];
            check(Preconditions::Flexible, Limit::All, blocked, all, 1);
            check(Preconditions::Flexible, Limit::First(2), blocked, all, 1);
        }
        for blocked in RESUMED {
            let none: [&[Event]; 3] = [&[Began], &[Got(1)], &[Got(2), Ended]];
            check(Preconditions::Flexible, Limit::First(0), blocked, none, 3);
        }
        let replayed: [&[Event]; 3] = [&[Began], &[Began, Got(1)], &[Began, Got(1), Got(2), Ended]];
        check(Preconditions::Flexible, Limit::First(0), Blocked::Replay, replayed, 3);
    });
}

/// The order of steps is not the order of data. Every step ends once, and sees its item. No step
/// starts before its preconditions hold, whichever thread puts them.
#[test]
fn no_step_begins_too_early() {
    const STEPS: u32 = 2000;
    limited(|| {
        for blocked in EVERY {
            for preconditions in [Preconditions::Strict, Preconditions::Flexible] {
                let settings = Settings { preconditions, blocked, ..Settings::default() };
                let (put, early) = ([const { AtomicUsize::new(0) }; STEPS as usize + 1], AtomicUsize::new(0));
                let ended = graph_with(&runtime(2), settings, |g| {
                    let (items, tags) = (g.items::<u32, u32>("item"), g.tags("tags"));
                    let (put, early) = (&put, &early);
                    let step = g.steps::<u32>("step").preconditions(move |&n, need| {
                        need.wait_on(items, n - 1);
                        need.wait_on(items, n / 2);
                    });
                    tags.prescribes(step.execute(move |n| async move {
                        let there = |key: u32| put[key as usize].load(Ordering::Acquire);
                        early.fetch_add(2 - there(n - 1) - there(n / 2), Ordering::Relaxed);
                        put[n as usize].store(1, Ordering::Release);
                        items.put(n, items.get(n - 1).await + 1);
                    }));
                    tags.put_all((1..=STEPS).rev());
                    put[0].store(1, Ordering::Release);
                    items.put(0, 0);
                    *g.get(items, STEPS).unwrap()
                });
                assert_eq!((ended.unwrap(), early.into_inner()), (STEPS, 0), "{settings:?}");
            }
        }
    });
}
