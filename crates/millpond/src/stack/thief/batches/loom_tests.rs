//! Models of a batch of two closures: its thief runs it, the owner of the stack passes both, and
//! perhaps another thief wants one. Each closure runs once, and the second one after the first.

use std::panic::Location;
use std::ptr::NonNull;

use loom::thread;

use super::*;
use crate::handle::claim::Claimant;
use crate::sync::{Arc, Guarded, spin_loop};
use crate::task::{Header, VTable};
use crate::worker::cancel::Cancels;
use crate::worker::scope_state::ScopeState;

struct World {
    batches: Batches,
    closures: [Header; 2],
    _scope_state: Box<ScopeState>,
    _cancels: Box<Cancels>,
    /// How often each closure has run. Loom watches the accesses.
    runs: [Guarded<u32>; 2],
    batch: u64,
}

// SAFETY: the models check that the threads access the cells in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn reserved() -> Arc<World> {
        let cancels = Box::new(Cancels::new());
        let scope_state = Box::new(ScopeState::root(&cancels, &Claimant::enter(true), 0, 0));
        let header = || Header::on_stack(&VTable::OF_POOLS, NonNull::from(&*scope_state).into(), Location::caller());
        let closures = [header(), header()];
        let mut world = World {
            batches: Batches::default(),
            closures,
            _scope_state: scope_state,
            _cancels: cancels,
            runs: [Guarded::new(0), Guarded::new(0)],
            batch: 0,
        };
        // The world moves into its place before closures have an address.
        world.batch = 1;
        let world = Arc::new(world);
        assert_eq!(world.batches.reserve(vec![world.closure(0), world.closure(1)]), Some(1));
        world
    }

    fn closure(&self, nth: usize) -> TaskRef {
        TaskRef(NonNull::from(&self.closures[nth]))
    }

    fn run(&self, nth: usize) {
        assert!(nth == 0 || self.runs[0].get() == 1);
        self.runs[nth].set(self.runs[nth].get() + 1);
    }

    fn end(&self, nth: usize) {
        self.closure(nth).header().theft().store(theft::DONE, crate::sync::atomic::Ordering::Release);
    }

    fn thief(&self) {
        while let Some(next) = self.batches.begin_next(self.batch) {
            let nth = usize::from(next == self.closure(1));
            self.run(nth);
            self.end(nth);
        }
    }

    /// The owner reaches both closures, one after the other.
    fn owner(&self) {
        for nth in 0..2 {
            loop {
                match theft::state(self.closure(nth)) {
                    State::Reserved => _ = self.batches.take_back(self.closure(nth)),
                    State::Untouched => break self.run(nth),
                    State::Stolen => spin_loop(),
                    State::Done => break,
                }
            }
        }
    }
}

#[test]
fn loom_an_owner_meets_a_batch() {
    loom::model(|| {
        let world = World::reserved();
        let thief = thread::spawn({
            let world = world.clone();
            move || world.thief()
        });
        world.owner();
        thief.join().unwrap();
        assert_eq!([world.runs[0].get(), world.runs[1].get()], [1, 1]);
    });
}

#[test]
fn loom_an_owner_meets_a_batch_that_its_thief_ends() {
    loom::model(|| {
        let world = World::reserved();
        let thief = thread::spawn({
            let world = world.clone();
            move || {
                if let Some(next) = world.batches.begin_next(world.batch) {
                    assert!(next == world.closure(0));
                    world.run(0);
                    world.end(0);
                    world.batches.end(world.batch);
                }
            }
        });
        world.owner();
        thief.join().unwrap();
        assert_eq!([world.runs[0].get(), world.runs[1].get()], [1, 1]);
    });
}
