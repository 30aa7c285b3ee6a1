//! Tests of the deque on real threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use super::*;
use crate::limit::limit;
use crate::pool::random::Draw;
use crate::pool::split::XorShift;
use crate::pool::testing::{Payloads, join, number, task};

const TASKS: usize = if cfg!(millpond_tsan) { 200_000 } else { 1_000_000 };

fn drain(owner: &mut Owner) -> Vec<usize> {
    std::iter::from_fn(|| owner.pop()).map(number).collect()
}

fn with_tasks(capacity: usize, tasks: usize) -> (Owner, Thief) {
    let (mut owner, thief) = new(capacity);
    (1..=tasks).for_each(|n| owner.push(task(n)));
    (owner, thief)
}

#[test]
fn private_tasks_come_back_newest_first() {
    let (mut owner, thief) = with_tasks(4, 4);
    assert_eq!(thief.steal(), Steal::Empty);
    assert!(!thief.public_seen());
    assert_eq!(drain(&mut owner), [4, 3, 2, 1]);
    assert_eq!(owner.pop(), None);
}

#[test]
fn thieves_take_the_oldest_public_task() {
    let (mut owner, thief) = with_tasks(4, 3);
    assert!(owner.publish(1));
    assert!(thief.public_seen());
    assert_eq!(thief.steal(), Steal::Task(task(1)));
    assert_eq!(thief.steal(), Steal::Task(task(2)));
    assert_eq!(thief.steal(), Steal::Empty);
    assert_eq!(drain(&mut owner), [3]);
}

#[test]
fn publishing_waits_until_the_public_part_is_empty() {
    let (mut owner, thief) = with_tasks(8, 2);
    assert!(owner.publish(1));
    owner.push(task(3));
    assert!(!owner.publish(0));
    assert_eq!(thief.steal(), Steal::Task(task(1)));
    assert!(owner.public_seen());
    assert!(owner.publish(0));
    assert_eq!(owner.private(), 0);
}

#[test]
fn half_is_taken_back() {
    let (mut owner, thief) = with_tasks(8, 5);
    assert!(owner.publish(0));
    assert_eq!(owner.pop(), Some(task(5)));
    assert_eq!(owner.private(), 2);
    assert_eq!(thief.steal(), Steal::Task(task(1)));
    assert_eq!(thief.steal(), Steal::Task(task(2)));
    assert_eq!(thief.steal(), Steal::Empty);
    assert_eq!(drain(&mut owner), [4, 3]);
    assert!(!thief.public_seen());
}

#[test]
fn the_last_task_is_taken_back_and_the_deque_goes_on() {
    let (mut owner, thief) = with_tasks(1, 1);
    for n in 2..10 {
        assert!(owner.publish(0));
        assert_eq!(owner.pop(), Some(task(n - 1)));
        assert_eq!(thief.steal(), Steal::Empty);
        owner.push(task(n));
    }
    assert!(owner.publish(0));
    assert_eq!(thief.steal(), Steal::Task(task(9)));
    assert_eq!(owner.pop(), None);
}

#[test]
fn an_unwanted_task_stays() {
    let (mut owner, thief) = with_tasks(4, 2);
    assert!(owner.publish(0));
    assert_eq!(owner.pop_if(|offered| offered == task(1)), (None, true));
    assert_eq!(thief.steal(), Steal::Task(task(1)));
    assert_eq!(owner.pop_if(|offered| offered == task(2)), (Some(task(2)), false));
    assert_eq!(owner.pop_if(|_| true), (None, false));
}

#[test]
fn growth_keeps_all() {
    let (mut owner, thief) = with_tasks(2, 2);
    assert!(owner.publish(1));
    (3..=100).for_each(|n| owner.push(task(n)));
    assert_eq!(thief.steal(), Steal::Task(task(1)));
    assert_eq!(drain(&mut owner), (2..=100).rev().collect::<Vec<_>>());
    assert_eq!(owner.buffer.capacity(), 128);
}

#[test]
fn stolen_room_is_used_again() {
    let (mut owner, thief) = new(4);
    for n in 1..100 {
        owner.push(task(n));
        assert!(owner.publish(0));
        assert_eq!(thief.steal(), Steal::Task(task(n)));
    }
    assert_eq!(owner.buffer.capacity(), 4);
}

/// The owner's actions between pushes in one of the stress tests below.
type Habit = fn(&mut Owner, &mut XorShift, &Payloads);

/// Pushes `TASKS` tasks while three thieves steal them.
fn stress(capacity: usize, habit: Habit) {
    limit(60, "a stress test of the deque", || steal_from(capacity, habit));
}

fn steal_from(capacity: usize, habit: Habit) {
    let (mut owner, thief) = new(capacity);
    let mut payloads = Payloads::new(TASKS);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let rob = || rob_until(&done, &thief, &payloads);
        let thieves: Vec<_> = (0..3).map(|_| scope.spawn(rob)).collect();
        let mut random = XorShift::new(1);
        for n in 1..=TASKS {
            owner.push(payloads.fill(n));
            habit(&mut owner, &mut random, &payloads);
        }
        while let Some(task) = owner.pop() {
            payloads.empty(task);
        }
        done.store(true, Relaxed);
        join(thieves);
    });
    payloads.check();
}

fn rob_until(done: &AtomicBool, thief: &Thief, payloads: &Payloads) {
    loop {
        match thief.steal() {
            Steal::Task(task) => payloads.empty(task),
            Steal::Lost => {}
            Steal::Empty if done.load(Relaxed) => return,
            Steal::Empty => thread::yield_now(),
        }
    }
}

fn publish_some(owner: &mut Owner, keep: usize) {
    if owner.private() > keep as u64 {
        owner.publish(keep as u64);
    }
}

#[test]
fn every_task_has_one_taker() {
    stress(2, |owner, random, payloads| {
        publish_some(owner, random.below(3));
        for _ in 0..random.below(3) {
            owner.pop().into_iter().for_each(|task| payloads.empty(task));
        }
    });
}

#[test]
fn every_task_has_one_taker_when_all_are_taken_back() {
    stress(2, |owner, random, payloads| {
        if random.below(8) == 0 {
            publish_some(owner, 0);
            std::iter::from_fn(|| owner.pop()).for_each(|task| payloads.empty(task));
        }
    });
}

#[test]
fn every_task_has_one_taker_as_the_deque_grows() {
    stress(1, |owner, random, payloads| {
        publish_some(owner, 1);
        if random.below(1000) == 0 {
            owner.pop().into_iter().for_each(|task| payloads.empty(task));
        }
    });
}

#[test]
fn every_task_has_one_taker_if_it_is_wanted() {
    stress(4, |owner, random, payloads| {
        publish_some(owner, random.below(2));
        let odd = random.below(2);
        let taken = owner.pop_if(|task| number(task) % 2 == odd).0;
        taken.into_iter().for_each(|task| payloads.empty(task));
    });
}
