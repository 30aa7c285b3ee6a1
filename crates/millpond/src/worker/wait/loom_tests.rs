//! Models of waking. A lost wake-up shows as a deadlock. A waiter ends with a write to a cell that
//! its waker writes as well, so loom finds a waker that comes too late.

use loom::thread;

use super::super::sleep::Idle;
use super::*;

struct World {
    mailbox: Mailbox,
    /// What the waker did before it woke.
    done: [Guarded<u32>; 2],
    fiber: NonNull<Fiber>,
}

// SAFETY: the models check whether the threads access the cells in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// A waiter that is sent to its waker.
struct Sent(*mut Waiter);

// SAFETY: a waiter may be woken from any thread.
unsafe impl Send for Sent {}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World {
            mailbox: Mailbox::new(0, Arc::new(Sleep::new(1, Idle::Sleep))),
            done: [Guarded::new(0), Guarded::new(0)],
            fiber: NonNull::dangling(),
        })
    }

    /// The part of the worker's loop that handles waiters. Returns when all `waiters` were
    /// delivered.
    fn carry_until_delivered(&self, waiters: &[&Waiter]) {
        let mut resumed = 0;
        loop {
            self.mailbox.take_mail(|waiter| {
                resumed += 1;
                assert_eq!(waiter.take_fiber(), Some(self.fiber));
                assert!(waiter.is_woken());
                waiter.deliver();
            });
            if waiters.iter().all(|waiter| waiter.is_delivered()) {
                assert_eq!(resumed, waiters.len(), "each once");
                return;
            }
            self.mailbox.sleep.wait(0, &|| self.mailbox.has_mail());
        }
    }
}

/// A thread that does something for a waiter and then wakes it.
fn waker(world: &Arc<World>, number: usize, waiter: &Waiter) -> thread::JoinHandle<()> {
    let (world, sent) = (world.clone(), Sent(ptr::from_ref(waiter).cast_mut()));
    thread::spawn(move || {
        let Sent(waiter) = { sent };
        world.done[number].set(1);
        Waiter::wake_at(waiter);
    })
}

#[test]
fn loom_a_wake_and_a_park() {
    loom::model(|| {
        let world = World::new();
        let waiter = Waiter::new(&world.mailbox);
        let waker = waker(&world, 0, &waiter);
        if waiter.park() {
            waiter.keep(world.fiber);
            world.carry_until_delivered(&[&waiter]);
        }
        assert!(waiter.is_woken());
        assert_eq!(world.done[0].get(), 1);
        waiter.end();
        waker.join().unwrap();
        assert!(!world.mailbox.has_mail());
    });
}

/// An owner that runs its own descendants checks its state between them.
#[test]
fn loom_an_owner_that_has_not_parked() {
    loom::model(|| {
        let world = World::new();
        let waiter = Waiter::new(&world.mailbox);
        let waker = waker(&world, 0, &waiter);
        if !waiter.is_woken() && waiter.park() {
            waiter.keep(world.fiber);
            world.carry_until_delivered(&[&waiter]);
        }
        assert_eq!(world.done[0].get(), 1);
        waiter.end();
        waker.join().unwrap();
    });
}

#[test]
fn loom_two_waiters_of_one_seat() {
    loom::model(|| {
        let world = World::new();
        let waiters = [Waiter::new(&world.mailbox), Waiter::new(&world.mailbox)];
        let wakers = [waker(&world, 0, &waiters[0]), waker(&world, 1, &waiters[1])];
        let parked: Vec<_> = waiters.iter().filter(|waiter| waiter.park()).collect();
        parked.iter().for_each(|waiter| waiter.keep(world.fiber));
        world.carry_until_delivered(&parked);
        assert_eq!(world.done.each_ref().map(Guarded::get), [1, 1]);
        waiters.iter().for_each(Waiter::end);
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
    });
}

/// A thread that is not a worker waits at one mailbox again and again. A waker of an earlier wait
/// that comes late still finds the mailbox.
#[test]
fn loom_a_bench() {
    loom::model(|| {
        let world = World::new();
        let wakers = [0, 1].map(|number| {
            let waiter = Waiter::new(&world.mailbox);
            let waker = waker(&world, number, &waiter);
            if waiter.park() {
                world.mailbox.sleep_until_delivered(&waiter);
            }
            assert_eq!(world.done[number].get(), 1);
            waiter.end();
            waker
        });
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
    });
}

/// An owner abroad. When it continues, its mailbox may end, with its bell and its sleep state. A
/// waker that works for another runtime has left the mailbox by then.
#[test]
fn loom_a_mailbox_that_goes_with_its_owner() {
    loom::model(|| {
        let world = World::new();
        let mut abroad = Box::new(Mailbox::new(0, Arc::new(Sleep::new(1, Idle::Sleep))));
        let waiter = Waiter::abroad(&abroad);
        let waker = waker(&world, 0, &waiter);
        if waiter.park() {
            abroad.sleep_until_delivered(&waiter);
        }
        waiter.return_home();
        assert_eq!(world.done[0].get(), 1);
        waiter.end();
        // SAFETY: if the waker rings without an order between the two accesses, loom fails the
        // model.
        unsafe { abroad.bell.unsync_load() };
        abroad.inbox.with_mut(|_| ());
        Arc::get_mut(&mut abroad.sleep).expect("the mailbox's alone").end();
        waker.join().unwrap();
    });
}

/// The bell is still set when the inbox has something.
#[test]
fn loom_the_bell_announces_mail() {
    loom::model(|| {
        let world = World::new();
        let waiters = [Waiter::new(&world.mailbox), Waiter::new(&world.mailbox)];
        assert!(waiters.iter().all(Waiter::park));
        let wakers = [waker(&world, 0, &waiters[0]), waker(&world, 1, &waiters[1])];
        world.mailbox.take_mail(Waiter::deliver);
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
        assert!(world.mailbox.is_rung() || !world.mailbox.has_mail());
        world.mailbox.take_mail(Waiter::deliver);
        assert!(!world.mailbox.is_rung() && !world.mailbox.has_mail());
        assert!(waiters.iter().all(Waiter::is_delivered));
    });
}
