//! Models of completion against joins. Loom checks the accesses to the block, a cell.

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;
use crate::sync::Arc;

struct World {
    state: State,
    result: UnsafeCell<u32>,
}

// SAFETY: the models check whether the cell is accessed in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        let world = World { state: State::default(), result: UnsafeCell::new(0) };
        world.state.begin();
        Arc::new(world)
    }

    fn set_result(&self, to: u32) {
        self.result.with_mut(|result| {
            // SAFETY: loom checks the access.
            unsafe { *result = to };
        });
    }

    fn result(&self) -> u32 {
        // SAFETY: loom checks the access.
        self.result.with(|result| unsafe { *result })
    }
}

/// Exactly one of completer and join frees the block: the second.
#[test]
fn loom_a_counted_block_is_freed_once() {
    loom::model(|| {
        let world = World::new();
        let usage = world.state.usage();
        let other = world.clone();
        let completer = thread::spawn(move || {
            other.set_result(1);
            let frees = other.state.complete().dropped;
            if frees {
                other.set_result(9);
            }
            frees
        });
        if world.state.is_done(usage) {
            assert_eq!(world.result(), 1);
        }
        let frees = world.state.drop_join();
        if frees {
            world.set_result(9);
        }
        assert!(completer.join().unwrap() ^ frees);
    });
}

/// Either the watcher sees the completion and what came before it, or the completer sees the
/// watcher.
#[test]
fn loom_watch_and_complete() {
    loom::model(|| {
        let world = World::new();
        let usage = world.state.usage();
        let other = world.clone();
        let completer = thread::spawn(move || {
            other.set_result(1);
            other.state.complete().watched
        });
        let watched = world.state.watch(usage);
        if !watched {
            assert_eq!(world.result(), 1);
        }
        assert_eq!(completer.join().unwrap(), watched);
    });
}

/// A join that keeps no block finds the block in use again, by a thread that got it from the
/// completer.
#[test]
fn loom_a_stale_join() {
    loom::model(|| {
        let world = World::new();
        let usage = world.state.usage();
        let other = world.clone();
        let completer = thread::spawn(move || {
            other.set_result(1);
            other.state.complete();
            let next = other.clone();
            let user = thread::spawn(move || next.state.begin());
            user.join().unwrap();
        });
        if world.state.is_done(usage) {
            assert_eq!(world.result(), 1);
        }
        if !world.state.watch(usage) {
            assert_eq!(world.result(), 1);
        }
        completer.join().unwrap();
    });
}
