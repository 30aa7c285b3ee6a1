//! Models of the end of a stolen closure (1 to 3). The owner of the victim's stack reaches the
//! closure while the thief runs it. Loom watches three cells: the contents of the stack, the result
//! of the closure, and the waiter.

use std::panic::Location;
use std::ptr::NonNull;

use loom::thread;

use super::*;
use crate::handle::claim::Claimant;
use crate::sync::{Arc, Guarded, spin_loop};
use crate::task::{Header, VTable};
use crate::worker::cancel::Cancels;
use crate::worker::scope_state::ScopeState;
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::wait::Mailbox;

struct World {
    frames: Frames,
    header: Header,
    _scope_state: Box<ScopeState>,
    _cancels: Box<Cancels>,
    mailbox: Mailbox,
    /// The result of the closure.
    result: Guarded<u32>,
    /// How often a thread continued with the stack.
    went_on: Guarded<u32>,
}

// SAFETY: the models check that the threads access the cells in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// A stolen closure of a stack that the caller owns.
    fn stolen() -> Arc<World> {
        let cancels = Box::new(Cancels::new());
        let scope_state = Box::new(ScopeState::root(&cancels, &Claimant::enter(true), 0, 0));
        let world = World {
            frames: Frames::new(),
            header: Header::on_stack(&VTable::OF_POOLS, NonNull::from(&*scope_state).into(), Location::caller()),
            _scope_state: scope_state,
            _cancels: cancels,
            mailbox: Mailbox::new(0, Arc::new(Sleep::new(1, Idle::Sleep))),
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

    /// The thief's part, from the closure's body on.
    fn thief(&self) {
        self.result.set(1);
        if let Some(frames) = end(&self.frames, self.closure()) {
            frames.enter();
            self.go_on();
        }
    }

    /// Continues with the stack, which the caller has entered.
    fn go_on(&self) {
        assert!(state(self.closure()) == State::Done && self.result.get() == 1);
        self.went_on.set(self.went_on.get() + 1);
    }

    /// Leaves the stack to the thief. If the closure is done, the caller continues with the stack.
    fn leave(&self) {
        if !wait_for(&self.frames, self.closure(), std::ptr::null()) {
            self.frames.enter();
            self.go_on();
        }
    }

    /// A body waits until it is woken, and continues.
    fn wait(&self) {
        let waiter = Waiter::new(&self.mailbox);
        if wait_for(&self.frames, self.closure(), &waiter) && waiter.park() {
            self.mailbox.sleep_until_delivered(&waiter);
        }
        self.frames.enter();
        self.go_on();
        waiter.end();
    }

    /// A body stops waiting, as in `stack::owner::room`, and waits again.
    fn wait_for_the_stolen(&self) {
        let waiter = Waiter::new(&self.mailbox);
        if wait_for(&self.frames, self.closure(), &waiter) && waiter.park() {
            self.mailbox.take_mail(Waiter::deliver);
            if !waiter.is_delivered() && !wait_no_longer(self.closure()) {
                self.mailbox.sleep_until_delivered(&waiter);
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

/// One of the two threads continues with the stack.
#[test]
fn loom_a_stack_goes_to_the_thief() {
    model(World::leave);
}

/// The same with a closure that was polled (`waiters`). Its thief takes the other branch.
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
    model(World::wait_for_the_stolen);
}

/// A peek at the closure: if it is done, its result is there.
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
