//! Models of the queues with more than one lock, at their shortest, where both ends meet. They use
//! spin locks, because loom lets a thread that tries a mutex wait for it.

use loom::thread;

use super::super::lock::LockKind;
use super::super::params::Params;
use super::super::queue::{DoubleList, List};
use super::*;
use crate::pool::testing::{Payloads, Tasks, number};
use crate::sync::Arc;
use crate::task::flag;

fn of_spin_locks<S: Shared>() -> S {
    S::new(&Settings::new(Params { lock: LockKind::Spin, ..Params::default() }))
}

/// One thread puts and takes at the working end, another steals. The queue begins with `before`
/// tasks.
fn both_ends<S: Shared>(before: usize) {
    loom::model(move || {
        let (queue, payloads) = (Arc::new(of_spin_locks::<S>()), Arc::new(Payloads::of_headers(before + 1)));
        (1..=before).for_each(|n| _ = queue.put(payloads.fill(n)));
        let other = {
            let (queue, payloads) = (queue.clone(), payloads.clone());
            thread::spawn(move || {
                let stolen = queue.steal(|_| 0, &mut Vec::new());
                stolen.into_iter().for_each(|task| payloads.empty(task));
            })
        };
        queue.put(payloads.fill(before + 1));
        queue.take().into_iter().for_each(|task| payloads.empty(task));
        other.join().unwrap();
        while let Some(task) = queue.take() {
            payloads.empty(task);
        }
        assert!(queue.looks_empty());
        Arc::try_unwrap(payloads).ok().expect("the other thread has ended").check();
    });
}

#[test]
fn two_locks_both_ends() {
    both_ends::<TwoLock>(0);
    both_ends::<TwoLock>(1);
}

#[test]
fn a_lock_a_task_first_in_first_out_both_ends() {
    both_ends::<PerTask<Fifo>>(0);
    both_ends::<PerTask<Fifo>>(1);
}

#[test]
fn a_lock_a_task_last_in_first_out_both_ends() {
    both_ends::<PerTask<Lifo>>(0);
    both_ends::<PerTask<Lifo>>(1);
}

#[test]
fn links_in_the_tasks_both_ends() {
    both_ends::<Locked<List>>(1);
    both_ends::<Locked<DoubleList, Opposite>>(1);
}

/// A join cancels a task while the queue changes its links, in the same word.
#[test]
fn a_cancel_is_not_lost() {
    loom::model(|| {
        let (queue, tasks) = (of_spin_locks::<Locked<DoubleList, Opposite>>(), Arc::new(Tasks::new(3)));
        tasks.task(2).add_flags(flag::COUNTED);
        let join = {
            let tasks = tasks.clone();
            thread::spawn(move || tasks.task(2).header().cancel())
        };
        (1..=3).for_each(|n| _ = queue.put(tasks.task(n)));
        let taken: Vec<_> = std::iter::from_fn(|| queue.take()).map(number).collect();
        assert_eq!(taken, [3, 2, 1]);
        join.join().unwrap();
        assert!(tasks.task(2).header().is_cancelled());
    });
}

/// Two threads each put a task and take one.
fn two_and_two<S: Shared>() {
    loom::model(|| {
        let (queue, payloads) = (Arc::new(of_spin_locks::<S>()), Arc::new(Payloads::of_headers(2)));
        let other = {
            let (queue, payloads) = (queue.clone(), payloads.clone());
            thread::spawn(move || {
                queue.put(payloads.fill(1));
                queue.take().into_iter().for_each(|task| payloads.empty(task));
            })
        };
        queue.put(payloads.fill(2));
        queue.take().into_iter().for_each(|task| payloads.empty(task));
        other.join().unwrap();
        while let Some(task) = queue.take() {
            payloads.empty(task);
        }
        Arc::try_unwrap(payloads).ok().expect("the other thread has ended").check();
    });
}

#[test]
fn two_put_and_two_take() {
    two_and_two::<TwoLock>();
    two_and_two::<PerTask<Fifo>>();
    two_and_two::<PerTask<Lifo>>();
    two_and_two::<Locked<DoubleList, Opposite>>();
}

/// The thread that checks the queue after a fence, as a sleeper does, sees the put, or the putter
/// sees the sleeper.
fn a_put_is_seen<S: Shared>() {
    use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
    loom::model(|| {
        let (queue, sleepers) = (Arc::new(of_spin_locks::<S>()), Arc::new(AtomicUsize::new(0)));
        let tasks = Arc::new(Tasks::new(1));
        let publisher = {
            let (queue, sleepers, tasks) = (queue.clone(), sleepers.clone(), tasks.clone());
            thread::spawn(move || {
                queue.put(tasks.task(1));
                fence(SeqCst);
                sleepers.load(Relaxed) == 1
            })
        };
        sleepers.store(1, Relaxed);
        fence(SeqCst);
        let seen = !queue.looks_empty();
        let woken = publisher.join().unwrap();
        assert!(seen || woken, "neither saw the other");
        assert_eq!(queue.take().map(number), Some(1));
    });
}

#[test]
fn a_sleeper_sees_what_was_put() {
    a_put_is_seen::<TwoLock>();
    a_put_is_seen::<PerTask<Fifo>>();
    a_put_is_seen::<PerTask<Lifo>>();
    a_put_is_seen::<Locked<List>>();
}
