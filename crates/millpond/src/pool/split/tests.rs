//! Tests of the pool's rules, and of the whole pool on real threads.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use super::*;
use crate::limit::limit;
use crate::pool::testing::{Payloads, join, number, task};

fn two_seats() -> (Split, Local, Local) {
    let (pool, mut seats) = Split::new(2);
    let thief = seats.pop().unwrap();
    (pool, seats.pop().unwrap(), thief)
}

fn all(mut next: impl FnMut() -> Option<TaskRef>) -> Vec<usize> {
    std::iter::from_fn(|| next().map(number)).collect()
}

#[test]
fn a_lone_task_stays_private() {
    for why in [Put::Released, Put::Spawned] {
        let (pool, mut owner, mut thief) = two_seats();
        assert!(!pool.put_at(&mut owner, task(1), 0, why));
        assert!(!pool.has_work());
        assert_eq!(pool.steal_by(&mut thief, |_| Some(())), None);
        assert_eq!(pool.take(&mut owner), Some(task(1)));
    }
}

#[test]
fn of_two_tasks_the_older_is_published() {
    for why in [Put::Released, Put::Spawned] {
        let (pool, mut owner, mut thief) = two_seats();
        pool.put_at(&mut owner, task(1), 0, why);
        assert!(pool.put_at(&mut owner, task(2), 0, why));
        assert!(!pool.put_at(&mut owner, task(3), 0, why));
        assert!(pool.has_work());
        assert_eq!(all(|| pool.steal_by(&mut thief, |_| Some(()))), [1]);
        assert!(!pool.has_work());
        assert_eq!(all(|| pool.take(&mut owner)), [3, 2]);
    }
}

#[test]
fn the_hungry_get_a_lone_spawned_task_but_no_released_one() {
    let (pool, mut owner, mut thief) = two_seats();
    pool.hungry(true);
    assert!(!pool.put_at(&mut owner, task(1), 0, Put::Released));
    assert_eq!(pool.take(&mut owner), Some(task(1)));
    assert!(pool.put_at(&mut owner, task(2), 0, Put::Spawned));
    assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(2)));
    pool.hungry(false);
    assert!(!pool.put_at(&mut owner, task(3), 0, Put::Spawned));
}

#[test]
fn hunger_makes_a_put_look_again() {
    let (pool, mut owner, mut thief) = two_seats();
    pool.put_at(&mut owner, task(1), 0, Put::Released);
    assert!(pool.put_at(&mut owner, task(2), 0, Put::Released));
    assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(1)));
    assert!(!pool.put_at(&mut owner, task(3), 0, Put::Released));
    pool.hungry(true);
    assert!(pool.put_at(&mut owner, task(4), 0, Put::Released));
    assert_eq!(all(|| pool.steal_by(&mut thief, |_| Some(()))), [2, 3]);
}

#[test]
fn without_hunger_a_put_looks_again_in_the_end() {
    let (pool, mut owner, mut thief) = two_seats();
    pool.put_at(&mut owner, task(1), 0, Put::Released);
    pool.put_at(&mut owner, task(2), 0, Put::Released);
    assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(1)));
    let puts = (3..).take_while(|&n| !pool.put_at(&mut owner, task(n), 0, Put::Released)).count();
    assert_eq!(puts, PUTS_PER_READ as usize - 1);
    assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(2)));
}

#[test]
fn a_single_seat_publishes_nothing() {
    let (pool, mut seats) = Split::new(1);
    pool.hungry(true);
    for n in 1..=1000 {
        assert!(!pool.put_at(&mut seats[0], task(n), 0, Put::Spawned));
    }
    assert!(!pool.expose(&mut seats[0]));
    assert!(!pool.has_work());
    assert_eq!(pool.steal_by(&mut seats[0], |_| Some(())), None);
    assert_eq!(all(|| pool.take(&mut seats[0])), (1..=1000).rev().collect::<Vec<_>>());
}

#[test]
fn exposing_publishes_all_once() {
    let (pool, mut owner, mut thief) = two_seats();
    assert!(!pool.expose(&mut owner));
    pool.put_at(&mut owner, task(1), 0, Put::Released);
    assert!(pool.expose(&mut owner));
    assert!(!pool.expose(&mut owner));
    assert_eq!(all(|| pool.steal_by(&mut thief, |_| Some(()))), [1]);
    assert!(!pool.expose(&mut owner));
}

#[test]
fn urgent_tasks_overtake() {
    let (pool, mut owner, mut thief) = two_seats();
    pool.put_at(&mut owner, task(1), 0, Put::Released);
    pool.put_at(&mut owner, task(2), -3, Put::Released);
    assert!(pool.put_at(&mut owner, task(3), 1, Put::Released));
    assert!(pool.put_at(&mut owner, task(4), 2, Put::Spawned));
    assert!(pool.put_at(&mut thief, task(5), 2, Put::Released));
    assert_eq!(pool.take(&mut owner), Some(task(4)));
    assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(5)));
    assert_eq!(pool.take(&mut owner), Some(task(3)));
    assert_eq!(pool.take(&mut owner), Some(task(2)));
    assert_eq!(pool.take(&mut owner), Some(task(1)));
}

#[test]
fn take_if_asks_about_the_newest_task() {
    let (pool, mut owner, _) = two_seats();
    pool.put_at(&mut owner, task(1), 0, Put::Released);
    pool.put_at(&mut owner, task(2), 0, Put::Released);
    assert_eq!(pool.take_if(&mut owner, |offered| offered == task(1)), (None, false));
    assert_eq!(pool.take_if(&mut owner, |offered| offered == task(2)), (Some(task(2)), false));
    assert_eq!(pool.take_if(&mut owner, |offered| offered == task(1)), (Some(task(1)), false));
    assert_eq!(pool.take_if(&mut owner, |_| panic!("nothing to ask about")), (None, false));
}

#[test]
fn a_thief_finds_every_victim() {
    let (pool, mut seats) = Split::new(5);
    let mut thief = seats.remove(2);
    for (n, seat) in seats.iter_mut().enumerate() {
        pool.put_at(seat, task(n + 1), 0, Put::Released);
        assert!(pool.expose(seat));
    }
    let mut stolen = all(|| pool.steal_by(&mut thief, |_| Some(())));
    stolen.sort();
    assert_eq!(stolen, [1, 2, 3, 4]);
}

#[test]
fn random_victims_are_spread() {
    let mut random = XorShift::new(0);
    let mut hits = [0; 7];
    (0..7000).for_each(|_| hits[random.below(7)] += 1);
    assert!(hits.iter().all(|&hits| (800..1200).contains(&hits)), "{hits:?}");
}

const SEATS: usize = 4;
const TASKS_EACH: usize = if cfg!(millpond_tsan) { 50_000 } else { 250_000 };

/// One worker of the stress test. It puts its tasks in bursts, and takes or steals until the tasks
/// of all workers are gone.
fn work(pool: &Split, mut seat: Local, payloads: &Payloads, left: &AtomicUsize) {
    let mut random = XorShift::new(100 + seat.number);
    let first = seat.number * TASKS_EACH + 1;
    let mut mine = first..first + TASKS_EACH;
    while left.load(Relaxed) > 0 {
        for n in mine.by_ref().take(random.below(20)) {
            put_somehow(pool, &mut seat, payloads.fill(n), &mut random);
        }
        for _ in 0..random.below(20) {
            take_somehow(pool, &mut seat, &mut random).into_iter().for_each(|task| {
                payloads.empty(task);
                left.fetch_sub(1, Relaxed);
            });
        }
    }
}

#[test]
fn a_thief_keeps_a_part_of_its_fair_share() {
    for (public, kept) in [(15, 0), (28, 2), (1000, 31)] {
        let (pool, mut owner, mut thief) = two_seats();
        for n in 1..=public {
            pool.put_at(&mut owner, task(n), 0, Put::Released);
        }
        assert!(pool.leave(&mut owner, Leave::Seat));
        assert_eq!(pool.steal_by(&mut thief, |task| (number(task) != 1).then_some(())), Some(task(1)));
        assert_eq!(pool.next(&thief), None, "of such a task it takes one");
        assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(2)));
        assert_eq!(pool.next(&thief), (kept > 0).then(|| task(2 + kept)));
        assert_eq!(all(|| pool.take(&mut thief)), (3..3 + kept).rev().collect::<Vec<_>>());
        assert_eq!(all(|| pool.take(&mut owner)), (3 + kept..=public).rev().collect::<Vec<_>>());
    }
}

#[test]
fn a_thief_keeps_tasks_of_one_group_only() {
    let (pool, mut owner, mut thief) = two_seats();
    (1..=1000).for_each(|n| _ = pool.put_at(&mut owner, task(n), 0, Put::Released));
    assert!(pool.leave(&mut owner, Leave::Seat));
    assert_eq!(pool.steal_by(&mut thief, |task| Some(number(task) < 5)), Some(task(1)));
    // The task of another group is the first that any worker takes next.
    assert_eq!(pool.take(&mut owner), Some(task(5)));
    assert_eq!(all(|| pool.take(&mut thief)), [4, 3, 2]);
    assert_eq!(pool.steal_by(&mut thief, |_| Some(())), Some(task(6)));
}

fn put_somehow(pool: &Split, seat: &mut Local, task: TaskRef, random: &mut XorShift) {
    match random.below(100) {
        0..2 => drop(pool.put_at(seat, task, 1, Put::Released)),
        2..50 => drop(pool.put_at(seat, task, 0, Put::Spawned)),
        _ => drop(pool.put_at(seat, task, 0, Put::Released)),
    }
}

fn take_somehow(pool: &Split, seat: &mut Local, random: &mut XorShift) -> Option<TaskRef> {
    if random.below(10) == 0 {
        pool.expose(seat);
        return pool.take_if(seat, |task| number(task).is_multiple_of(2)).0;
    }
    pool.take(seat).or_else(|| {
        pool.hungry(true);
        let stolen = pool.steal_by(seat, |_| Some(()));
        pool.hungry(false);
        stolen
    })
}

#[test]
fn every_task_has_one_taker() {
    limit(60, "the pool's stress test", || {
        let (pool, seats) = Split::new(SEATS);
        let mut payloads = Payloads::new(SEATS * TASKS_EACH);
        let left = AtomicUsize::new(SEATS * TASKS_EACH);
        thread::scope(|scope| {
            let (pool, payloads, left) = (&pool, &payloads, &left);
            let start = |seat| scope.spawn(move || work(pool, seat, payloads, left));
            join(seats.into_iter().map(start).collect());
        });
        payloads.check();
        assert!(!pool.has_work());
    });
}
