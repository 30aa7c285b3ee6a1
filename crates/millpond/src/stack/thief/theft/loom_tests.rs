//! Models of a stolen closure's end (1 to 3). Who runs the victim's stack comes to the closure while the thief runs it. What is
//! in the stack is a cell that loom watches, and so are what the closure has written, and who is to be woken.

use std::panic::Location;
use std::ptr::NonNull;

use loom::thread;

use super::*;
use crate::handle::claim::Claimant;
use crate::runtime::cancel::Cancels;
use crate::runtime::scope_state::ScopeState;
use crate::sync::{Arc, Guarded, spin_loop};
use crate::task::{Header, VTable};
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::wait::Seat;

struct World {
    frames: Frames,
    header: Header,
    _scope_state: Box<ScopeState>,
    _cancels: Box<Cancels>,
    seat: Seat,
    /// What the closure has written.
    result: Guarded<u32>,
    /// How often somebody went on with the stack.
    went_on: Guarded<u32>,
}

// SAFETY: whether the cells are touched in order is what the models are about.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// A closure that was stolen from a stack, which the caller runs.
    fn stolen() -> Arc<World> {
        let cancels = Box::new(Cancels::new());
        let scope_state = Box::new(ScopeState::root(&cancels, &Claimant::enter(true), 0, 0));
        let world = World {
            frames: Frames::new(),
            header: Header::on_stack(&VTable::OF_POOLS, NonNull::from(&*scope_state), Location::caller()),
            _scope_state: scope_state,
            _cancels: cancels,
            seat: Seat::new(0, Arc::new(Sleep::new(1, Idle::Sleep))),
            result: Guarded::new(0),
            went_on: Guarded::new(0),
        };
        world.frames.enter();
        take(world.closure());
        Arc::new(world)
    }

    fn closure(&self) -> TaskRef {
        TaskRef(NonNull::from(&self.header))
    }

    /// The thief, from the closure's body on.
    fn thief(&self) {
        self.result.set(1);
        if let Some(frames) = end(&self.frames, self.closure()) {
            frames.enter();
            self.go_on();
        }
    }

    /// Goes on with the stack, which the caller has entered.
    fn go_on(&self) {
        assert!(state(self.closure()) == State::Done && self.result.get() == 1);
        self.went_on.set(self.went_on.get() + 1);
    }

    /// Leaves the stack to the thief; goes on with it if the closure is done.
    fn leave(&self) {
        if !wait_for(&self.frames, self.closure(), std::ptr::null()) {
            self.frames.enter();
            self.go_on();
        }
    }

    /// A body that waits until it was woken, and goes on.
    fn wait(&self) {
        let waiter = Waiter::new(&self.seat);
        if wait_for(&self.frames, self.closure(), &waiter) && waiter.park() {
            self.seat.sleep_until_delivered(&waiter);
        }
        self.frames.enter();
        self.go_on();
        waiter.end();
    }

    /// A body that stops waiting, as `stack::owner::room` does, and waits again.
    fn wait_in_vain(&self) {
        let waiter = Waiter::new(&self.seat);
        if wait_for(&self.frames, self.closure(), &waiter) && waiter.park() {
            self.seat.take_mail(Waiter::deliver);
            if !waiter.is_delivered() && !wait_no_longer(self.closure()) {
                self.seat.sleep_until_delivered(&waiter);
            }
        }
        self.frames.enter();
        waiter.end();
        self.wait();
    }
}

fn model(owner: fn(&World)) {
    loom::model(move || {
        let world = World::stolen();
        let thief = thread::spawn({
            let world = world.clone();
            move || world.thief()
        });
        owner(&world);
        thief.join().unwrap();
        assert_eq!(world.went_on.get(), 1);
    });
}

/// One of the two goes on with the stack.
#[test]
fn loom_a_stack_goes_to_the_thief() {
    model(World::leave);
}

/// As above with a closure that was polled (`watch`), whose thief takes the other way.
#[test]
fn loom_a_stack_of_a_watched_closure_goes_to_the_thief() {
    model(|world| {
        mark(world.closure());
        world.leave();
    });
}

#[test]
fn loom_a_body_waits_for_a_thief() {
    model(World::wait);
}

#[test]
fn loom_a_body_waits_no_longer() {
    model(World::wait_in_vain);
}

/// A peek at the closure: what it has written is there if it is done.
#[test]
fn loom_a_body_sees_that_it_is_done() {
    model(|world| {
        while state(world.closure()) != State::Done {
            spin_loop();
        }
        assert!(pass(world.closure()) && !pass(world.closure()));
        world.go_on();
    });
}
