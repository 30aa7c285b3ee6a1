//! Models of polls (1) against the end of the closure (2 and 3). A thief runs the closure.

use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use loom::thread;

use super::*;
use crate::handle::claim::Claimant;
use crate::sync::{Arc, Guarded};
use crate::task::{Header, VTable};
use crate::worker::cancel::Cancels;

struct World {
    scope_state: Box<ScopeState>,
    header: Header,
    /// The closure's result.
    result: Guarded<u32>,
    _cancels: Box<Cancels>,
}

// SAFETY: the models check whether the cells are accessed in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        let cancels = Box::new(Cancels::new());
        let scope_state = Box::new(ScopeState::root(&cancels, &Claimant::enter(true), 0, 0));
        let header = Header::on_stack(&VTable::OF_POOLS, NonNull::from(&*scope_state).into(), Location::caller());
        Arc::new(World { scope_state, header, result: Guarded::new(0), _cancels: cancels })
    }

    fn closure(&self) -> TaskRef {
        TaskRef(NonNull::from(&self.header))
    }

    /// A thief takes the closure, runs it and ends it.
    fn steal(&self) {
        theft::take(self.closure());
        self.result.set(1);
        end(self.closure());
        assert!(theft::state(self.closure()) == State::Done);
    }

    /// Whether the poll will be woken later.
    fn poll(&self, bell: &std::sync::Arc<Bell>) -> bool {
        let told = wake_when_ended(&self.scope_state, self.closure(), self.header.order(), &bell.clone().into());
        if !told {
            assert!(theft::state(self.closure()) == State::Done && self.result.get() == 1);
        }
        told
    }
}

/// Counts the wakes.
#[derive(Default)]
struct Bell(AtomicU32);

impl std::task::Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Polls with each of the wakers in turn, while a thief takes the closure and runs it.
fn polls(wakers: &'static [usize]) {
    loom::model(move || {
        let world = World::new();
        let thief = thread::spawn({
            let world = world.clone();
            move || world.steal()
        });
        let bells = [(); 2].map(|()| std::sync::Arc::new(Bell::default()));
        let last = wakers.iter().map(|&of| world.poll(&bells[of]).then_some(of)).last().flatten();
        thief.join().unwrap();
        let told = bells.map(|bell| bell.0.load(SeqCst));
        assert!(told[0] + told[1] <= 1, "{told:?}: the wakes of one closure");
        assert!(
            last.is_none_or(|last| told[last] == 1),
            "{last:?} {told:?}: the last poller is notified, and no other thread"
        );
        assert!(world.scope_state.closure_wakers().lock().is_empty());
    });
}

/// A closure runs while it is polled. The poll may also come before the thief.
#[test]
fn loom_a_poll_and_a_theft() {
    polls(&[0]);
}

#[test]
fn loom_polls_in_turn() {
    polls(&[0, 1]);
}

#[test]
fn loom_polls_back_and_forth() {
    polls(&[0, 1, 0]);
}
