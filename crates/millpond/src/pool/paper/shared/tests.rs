//! Queues that several workers use: they return each task once, and in order if one thread takes.

use std::cell::Cell;
use std::thread;

use super::super::lock::LockKind;
use super::super::params::Params;
use super::super::queue::{Array, DoubleList, List};
use super::*;
use crate::limit::limit;
use crate::pool::testing::{Payloads, join, number, own_task as task};

/// Calls a function with each kind of queue and each kind of lock.
macro_rules! for_each_queue {
    ($function:ident) => {
        for lock in [LockKind::System, LockKind::Spin] {
            $function::<Locked<List>>("locked list", lock);
            $function::<Locked<Array>>("locked array", lock);
            $function::<Locked<DoubleList, Opposite>>("locked double list", lock);
            $function::<TwoLock>("two locks", lock);
            $function::<PerTask<Fifo>>("a lock a task, FIFO", lock);
            $function::<PerTask<Lifo>>("a lock a task, LIFO", lock);
        }
    };
}

fn of_lock(lock: LockKind) -> Settings {
    Settings::new(Params { lock, ..Params::default() })
}

fn drain(take: impl FnMut() -> Option<TaskRef>) -> Vec<usize> {
    std::iter::from_fn(take).map(number).collect()
}

#[test]
fn tasks_come_in_order() {
    fn check<S: Shared>(name: &str, lock: LockKind) {
        let queue = S::new(&of_lock(lock));
        let fifo = name.contains("FIFO") || name == "two locks";
        for round in 0..3 {
            assert!(queue.looks_empty() && queue.take().is_none(), "{name}, round {round}");
            let first: Vec<_> = (1..=100).map(|n| queue.put(task(n))).collect();
            assert!(first[0] && !first[1..].contains(&true), "{name}: what was empty before");
            assert!(!queue.looks_empty());
            let mut taken = drain(|| queue.take());
            if !fifo {
                taken.reverse();
            }
            assert_eq!(taken, (1..=100).collect::<Vec<_>>(), "{name}, round {round}");
        }
    }
    for_each_queue!(check);
}

#[test]
fn only_what_is_wanted() {
    fn check<S: Shared>(name: &str, lock: LockKind) {
        let queue = S::new(&of_lock(lock));
        assert_eq!(queue.take_if(|_| true), None, "{name}");
        (1..=3).for_each(|n| _ = queue.put(task(n)));
        let shown = Cell::new(0);
        let none = queue.take_if(|next| {
            shown.set(number(next));
            false
        });
        assert_eq!((none, [1, 3].contains(&shown.get())), (None, true), "{name}");
        assert_eq!(queue.take_if(|next| number(next) == shown.get()).map(number), Some(shown.get()), "{name}");
        assert_eq!(drain(|| queue.take()).len(), 2, "{name}");
    }
    for_each_queue!(check);
}

#[test]
fn thieves_take_their_share_at_their_end() {
    fn robbed<S: Shared>(share: usize) -> (Vec<usize>, Vec<usize>) {
        let (queue, mut stolen_tasks) = (S::new(&of_lock(LockKind::System)), Vec::new());
        (1..=6).for_each(|n| _ = queue.put(task(n)));
        let first = queue.steal(|_| share - 1, &mut stolen_tasks).map(number).unwrap();
        let stolen = [first].into_iter().chain(stolen_tasks.into_iter().map(number)).collect();
        (stolen, drain(|| queue.take()))
    }
    assert_eq!(robbed::<Locked<List>>(1), (vec![6], vec![5, 4, 3, 2, 1]));
    assert_eq!(robbed::<Locked<Array>>(3), (vec![6, 5, 4], vec![3, 2, 1]));
    assert_eq!(robbed::<Locked<DoubleList, Opposite>>(2), (vec![1, 2], vec![6, 5, 4, 3]));
    assert_eq!(robbed::<PerTask<Lifo>>(2), (vec![1, 2], vec![6, 5, 4, 3]));
    assert_eq!(robbed::<TwoLock>(9), (vec![1, 2, 3, 4, 5, 6], vec![]));
}

/// Two threads put and take, two others steal.
#[test]
fn each_task_is_taken_once() {
    fn check<S: Shared>(name: &str, lock: LockKind) {
        const TASKS: usize = 20_000;
        let mut payloads = Payloads::of_headers(2 * TASKS);
        let queue = S::new(&of_lock(lock));
        thread::scope(|scope| {
            let (queue, payloads) = (&queue, &payloads);
            let putter = |from: usize| {
                scope.spawn(move || {
                    for n in from + 1..=from + TASKS {
                        queue.put(payloads.fill(n));
                        if n % 3 == 0 {
                            queue.take().into_iter().for_each(|task| payloads.empty(task));
                        }
                    }
                    drain_all(queue, payloads);
                })
            };
            let thief = || {
                scope.spawn(move || {
                    let mut stolen_tasks = Vec::new();
                    for turn in 0..TASKS {
                        let stolen = queue.steal(|_| turn % 3, &mut stolen_tasks);
                        stolen.into_iter().chain(stolen_tasks.drain(..)).for_each(|task| payloads.empty(task));
                        queue
                            .take_if(|task| number(task).is_multiple_of(2))
                            .into_iter()
                            .for_each(|task| payloads.empty(task));
                    }
                })
            };
            join(vec![putter(0), thief(), putter(TASKS), thief()]);
        });
        drain_all(&queue, &payloads);
        payloads.check();
        assert!(queue.looks_empty(), "{name}");
    }
    fn drain_all<S: Shared>(queue: &S, payloads: &Payloads) {
        while let Some(task) = queue.take() {
            payloads.empty(task);
        }
    }
    limit(120, "each task once", || for_each_queue!(check));
}
