//! Models of the protocol. A lost wake-up shows as a deadlock. The models publish with relaxed
//! operations, so that only the protocol's fences order them.

use std::cell::Cell;

use loom::thread;

use super::*;
use crate::sync::Arc;

struct World {
    sleep: Sleep,
    /// Units of work that any worker may take.
    pool: AtomicUsize,
    /// Messages for one seat.
    inbox: [AtomicUsize; 2],
}

fn model(test: impl Fn(Arc<World>) + Sync + Send + 'static) {
    bounded_model(None, test);
}

/// Allows at most `preemptions`, or fewer if the environment says so.
fn bounded_model(preemptions: Option<usize>, test: impl Fn(Arc<World>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.into_iter().chain(preemptions).min();
    builder.check(move || {
        let world = World {
            sleep: Sleep::new(2, Idle::Sleep),
            pool: AtomicUsize::new(0),
            inbox: [AtomicUsize::new(0), AtomicUsize::new(0)],
        };
        let world = Arc::new(world);
        test(world.clone());
        assert_eq!(world.sleep.sleepers(), 0);
    });
}

/// Takes one of at most two units. No load comes before the compare-and-swap. Loom reorders an
/// access only with the last access that conflicts with it, so it would miss what such a load
/// hides.
fn take(from: &AtomicUsize) -> bool {
    [1, 2].iter().any(|&left| from.compare_exchange(left, left - 1, Relaxed, Relaxed).is_ok())
}

impl World {
    fn publish(&self) {
        self.pool.fetch_add(1, Relaxed);
        self.sleep.work_arrived();
    }

    /// Like `publish`, for a publisher that needs no fence.
    fn publish_in_order(&self) {
        self.pool.fetch_add(1, SeqCst);
        self.sleep.work_arrived_in_order();
    }

    fn send(&self, seat: usize) {
        self.inbox[seat].fetch_add(1, Relaxed);
        self.sleep.wake(seat);
    }

    fn sleep_until_taken(&self, seat: usize, from: &AtomicUsize) {
        while !take(from) {
            self.sleep.wait(seat, &|| from.load(Relaxed) != 0);
        }
    }
}

fn spawn(world: &Arc<World>, body: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

fn join(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn a_publisher_and_a_sleeper(publish: fn(&World)) {
    model(move |world| {
        let publisher = spawn(&world, publish);
        world.sleep_until_taken(0, &world.pool);
        join([publisher]);
    });
}

#[test]
fn loom_a_publisher_and_a_sleeper() {
    a_publisher_and_a_sleeper(World::publish);
}

#[test]
fn loom_a_publisher_in_order_and_a_sleeper() {
    a_publisher_and_a_sleeper(World::publish_in_order);
}

/// The sleeper sleeps again after a wake-up. One publisher publishes twice.
#[test]
fn loom_a_sleeper_sleeps_twice() {
    model(|world| {
        let publisher = spawn(&world, |world| {
            world.publish();
            world.publish();
        });
        world.sleep_until_taken(0, &world.pool);
        world.sleep_until_taken(0, &world.pool);
        join([publisher]);
    });
}

/// Each sleeper takes one unit and leaves, so each arrival must wake another sleeper. With four
/// threads, a third preemption would take minutes.
#[test]
fn loom_two_publishers_and_two_sleepers() {
    bounded_model(Some(2), |world| {
        let sleeper = |seat| move |world: &World| world.sleep_until_taken(seat, &world.pool);
        let threads = [spawn(&world, sleeper(0)), spawn(&world, sleeper(1)), spawn(&world, World::publish)];
        world.publish();
        join(threads);
    });
}

/// Like the model above, with both arrivals from one publisher.
#[test]
fn loom_a_publisher_and_two_sleepers() {
    model(|world| {
        let sleeper = |seat| move |world: &World| world.sleep_until_taken(seat, &world.pool);
        let threads = [spawn(&world, sleeper(0)), spawn(&world, sleeper(1))];
        world.publish();
        world.publish();
        join(threads);
    });
}

#[test]
fn loom_a_call_and_a_sleeper() {
    model(|world| {
        let caller = spawn(&world, |world| world.send(0));
        world.sleep_until_taken(0, &world.inbox[0]);
        join([caller]);
    });
}

/// Each seat is woken by its own message.
#[test]
fn loom_calls_reach_their_seats() {
    model(|world| {
        let sleeper = |seat: usize| move |world: &World| world.sleep_until_taken(seat, &world.inbox[seat]);
        let threads = [spawn(&world, sleeper(0)), spawn(&world, sleeper(1))];
        world.send(1);
        world.send(0);
        join(threads);
    });
}

/// A call and an arrival meet at one seat, which waits for both.
#[test]
fn loom_a_call_and_an_arrival() {
    model(|world| {
        let threads = [spawn(&world, World::publish), spawn(&world, |world| world.send(0))];
        let (mut messages, mut pieces) = (0, 0);
        while messages + pieces < 2 {
            world.sleep.wait(0, &|| world.inbox[0].load(Relaxed) + world.pool.load(Relaxed) != 0);
            messages += usize::from(take(&world.inbox[0]));
            pieces += usize::from(take(&world.pool));
        }
        join(threads);
    });
}

/// Seat 0 finds a message as it goes to sleep, and the message keeps it. If the arrival has chosen
/// seat 0 in the meantime, seat 0 must wake seat 1. If seat 0 is woken instead, it takes the unit.
#[test]
fn loom_a_sleeper_finds_work_while_it_is_chosen() {
    model(|world| {
        let first = spawn(&world, |world| {
            let kept = Cell::new(false);
            world.sleep.wait(0, &|| {
                kept.set(take(&world.inbox[0]));
                kept.get()
            });
            if !kept.get() && take(&world.pool) {
                world.send(1);
            }
        });
        let second = spawn(&world, |world| {
            while !take(&world.pool) && !take(&world.inbox[1]) {
                world.sleep.wait(1, &|| world.pool.load(Relaxed) + world.inbox[1].load(Relaxed) != 0);
            }
        });
        world.inbox[0].fetch_add(1, Relaxed);
        world.publish();
        // Seat 0 may have found neither: the arrival was for seat 1, and the message to seat 0 came
        // too late.
        world.sleep.wake(0);
        join([first, second]);
        // Only one of them took the unit. If seat 0 did, its message to seat 1 may be left.
        assert_eq!(world.pool.load(Relaxed), 0);
    });
}

/// Seat 0 stands for a worker's carrier. A message comes first and keeps the carrier. A message may
/// also come after seat 0 was chosen for a unit and woken. That unit must not stay untaken while
/// seat 1 sleeps.
#[test]
fn loom_a_message_after_the_choice() {
    model(|world| {
        let first = spawn(&world, |world| {
            let mut owes = false;
            loop {
                if take(&world.inbox[0]) {
                    if owes && world.pool.load(Relaxed) != 0 {
                        world.sleep.work_arrived();
                    }
                    return;
                }
                if take(&world.pool) {
                    return world.send(1);
                }
                owes |= world.sleep.wait(0, &|| world.inbox[0].load(Relaxed) + world.pool.load(Relaxed) != 0);
            }
        });
        let second = spawn(&world, |world| {
            while !take(&world.pool) && !take(&world.inbox[1]) {
                world.sleep.wait(1, &|| world.pool.load(Relaxed) + world.inbox[1].load(Relaxed) != 0);
            }
        });
        world.publish();
        world.send(0);
        join([first, second]);
        assert_eq!(world.pool.load(Relaxed), 0);
    });
}

#[test]
fn loom_all_are_woken() {
    model(|world| {
        let sleeper = |seat| {
            move |world: &World| {
                while world.pool.load(Relaxed) == 0 {
                    world.sleep.wait(seat, &|| world.pool.load(Relaxed) != 0);
                }
            }
        };
        let threads = [spawn(&world, sleeper(0)), spawn(&world, sleeper(1))];
        world.pool.store(1, Relaxed);
        world.sleep.wake_all();
        join(threads);
    });
}
