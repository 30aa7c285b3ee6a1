//! Tests each step of the protocol, and the whole protocol on real threads.

use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// A hang means a lost wake-up. This ends the test then instead of waiting without end.
fn within(limit: Duration, test: impl FnOnce() + Send + 'static) {
    let start = Instant::now();
    let runner = thread::spawn(test);
    while !runner.is_finished() {
        assert!(start.elapsed() < limit, "a wake-up was lost");
        thread::sleep(Duration::from_millis(1));
    }
    runner.join().unwrap();
}

const LIMIT: Duration = Duration::from_secs(60);

/// The state after S3 on every seat.
fn all_registered(seats: usize) -> Sleep {
    let sleep = Sleep::new(seats, Idle::Sleep);
    sleep.sleepers.fetch_add(seats, Relaxed);
    sleep.slots.iter().for_each(|slot| slot.state.store(ASLEEP, Relaxed));
    sleep
}

fn states(sleep: &Sleep) -> Vec<usize> {
    sleep.slots.iter().map(|slot| slot.state.load(Relaxed)).collect()
}

#[test]
fn each_arrival_chooses_another_sleeper() {
    let sleep = all_registered(2);
    sleep.work_arrived();
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![CHOSEN, ASLEEP], 1));
    sleep.work_arrived();
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![CHOSEN, CHOSEN], 0));
    sleep.work_arrived();
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![CHOSEN, CHOSEN], 0));
}

#[test]
fn a_call_takes_only_its_seat() {
    let sleep = all_registered(3);
    sleep.wake(1);
    sleep.wake(1);
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![ASLEEP, CALLED, ASLEEP], 2));
}

#[test]
fn a_call_passes_the_choice_on() {
    let sleep = all_registered(3);
    sleep.work_arrived();
    sleep.wake(0);
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![CALLED, CHOSEN, ASLEEP], 1));
    sleep.wake_all();
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![CALLED, CALLED, CALLED], 0));
}

#[test]
fn a_sleeper_that_finds_work_uncounts_itself_and_passes_the_choice_on() {
    let sleep = all_registered(3);
    sleep.stay_awake(&sleep.slots[2]);
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![ASLEEP, ASLEEP, AWAKE], 2));
    sleep.work_arrived();
    sleep.stay_awake(&sleep.slots[0]);
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![AWAKE, CHOSEN, AWAKE], 0));
}

#[test]
fn a_sleeper_owes_a_look_if_it_was_chosen_last() {
    let woken = |wake: fn(&Sleep)| {
        let sleep = Sleep::new(1, Idle::Sleep);
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| sleep.wait(0, &|| false));
            while sleep.slots[0].state.load(Acquire) != ASLEEP {
                thread::yield_now();
            }
            wake(&sleep);
            sleeper.join().unwrap()
        })
    };
    assert!(woken(Sleep::work_arrived));
    assert!(!woken(|sleep| sleep.wake(0)));
    assert!(!all_registered(1).wait(0, &|| true), "it has found something itself");
}

#[test]
fn without_sleepers_none_is_woken() {
    let sleep = Sleep::new(2, Idle::Hybrid);
    sleep.work_arrived();
    sleep.wake(1);
    sleep.wake_all();
    assert_eq!((states(&sleep), sleep.sleepers()), (vec![AWAKE, AWAKE], 0));
}

/// Two threads take turns. Each sleeps during the other's turn. A call and an arrival wake them
/// alternately.
fn ping_pong(idle: Idle, rounds: usize) {
    within(LIMIT, move || {
        let sleep = Sleep::new(2, idle);
        let turn = AtomicUsize::new(0);
        let play = |seat: usize| {
            for round in (seat..rounds).step_by(2) {
                while turn.load(Acquire) != round {
                    sleep.wait(seat, &|| turn.load(Relaxed) == round);
                }
                turn.store(round + 1, Release);
                if round % 4 < 2 { sleep.wake(1 - seat) } else { sleep.work_arrived() }
            }
        };
        thread::scope(|scope| {
            let players = [scope.spawn(|| play(0)), scope.spawn(|| play(1))];
            players.into_iter().for_each(|player| player.join().unwrap());
        });
        assert_eq!((turn.into_inner(), sleep.sleepers()), (rounds, 0));
    });
}

#[test]
fn ping_pong_asleep() {
    ping_pong(Idle::Sleep, 20_000);
}

#[test]
fn ping_pong_hybrid() {
    ping_pong(Idle::Hybrid, 20_000);
}

#[test]
fn ping_pong_busy() {
    ping_pong(Idle::Busy, 1_000);
}

/// Takes one unit of `work`, if there is one.
fn take(work: &AtomicUsize) -> bool {
    work.fetch_update(AcqRel, Acquire, |left| left.checked_sub(1)).is_ok()
}

/// More workers than cores share bursts of work. Two publishers wait for the end of each burst.
fn bursts(idle: Idle, workers: usize, rounds: usize) {
    const STOP: usize = usize::MAX / 2;
    within(LIMIT, move || {
        let sleep = Sleep::new(workers, idle);
        let (work, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let worker = &|seat: usize| {
            while work.load(Acquire) < STOP {
                if take(&work) {
                    done.fetch_add(1, Release);
                } else {
                    sleep.wait(seat, &|| work.load(Relaxed) != 0);
                }
            }
        };
        let publisher = || {
            for _ in 0..rounds {
                let aim = done.load(Acquire) + 1;
                work.fetch_add(1, Release);
                sleep.work_arrived();
                while done.load(Acquire) < aim {
                    thread::yield_now();
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|seat| scope.spawn(move || worker(seat))).collect();
            let publishers = [scope.spawn(publisher), scope.spawn(publisher)];
            publishers.into_iter().for_each(|publisher| publisher.join().unwrap());
            work.store(STOP, Release);
            sleep.wake_all();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
        assert_eq!(sleep.sleepers(), 0);
    });
}

#[test]
fn bursts_asleep() {
    bursts(Idle::Sleep, 8, 5_000);
}

#[test]
fn bursts_hybrid() {
    bursts(Idle::Hybrid, 8, 5_000);
}

/// The processor time of the calling thread.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_sleeper_uses_no_processor_time() {
    for idle in [Idle::Sleep, Idle::Hybrid] {
        let sleep = Sleep::new(1, idle);
        let used = thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let before = processor_time();
                sleep.wait(0, &|| false);
                processor_time() - before
            });
            while sleep.sleepers() == 0 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(200));
            sleep.wake(0);
            sleeper.join().unwrap()
        });
        assert!(used < Duration::from_millis(10), "{idle:?}: {used:?}");
    }
}
