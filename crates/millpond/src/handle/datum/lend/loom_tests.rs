//! Models of the owners' word. It guards a cell that loom watches.

use loom::thread;

use super::*;
use crate::sync::{Arc, Mutex, MutexGuard, UnsafeCell};

/// A datum, and the scopes that have not ended.
struct World {
    word: AtomicU64,
    alive: Mutex<Vec<u64>>,
    value: UnsafeCell<u64>,
}

// SAFETY: the models check who touches the cell.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new(owner: u64) -> Arc<World> {
        Arc::new(World { word: AtomicU64::new(owner), alive: Mutex::new(Vec::new()), value: UnsafeCell::new(0) })
    }

    fn has_ended(alive: &MutexGuard<'_, Vec<u64>>, owner: u64) -> bool {
        !alive.contains(&owner)
    }

    /// A scope that writes the value twice if it gets the datum. The two writes are one change.
    fn scope(&self, number: u64) -> bool {
        self.alive.lock().push(number);
        let owner = take(&self.word, number, |owner| World::has_ended(&self.alive.lock(), owner));
        if owner.is_some() {
            // SAFETY: loom checks that no other thread touches the cell.
            self.value.with_mut(|value| unsafe { *value += 1 });
            // SAFETY: as above.
            self.value.with_mut(|value| unsafe { *value += 1 });
        }
        self.alive.lock().retain(|&other| other != number);
        owner.is_some()
    }

    fn enter(&self) -> Option<Reader> {
        enter(&self.word, || self.alive.lock(), World::has_ended, || true)
    }

    /// A reader. Returns whether it was let in.
    fn reader(&self) -> bool {
        let entered = self.enter().is_some();
        if entered {
            // SAFETY: loom checks that no other thread writes.
            let value = self.value.with(|value| unsafe { *value });
            assert_eq!(value % 2, 0, "no scope is between its writes");
            leave(&self.word);
        }
        entered
    }
}

fn spawn(world: &Arc<World>, run: impl FnOnce(&World) -> bool + 'static) -> thread::JoinHandle<bool> {
    let world = world.clone();
    thread::spawn(move || run(&world))
}

/// Two readers never shut each other out, and leave the datum without an owner.
#[test]
fn loom_two_readers() {
    loom::model(|| {
        // The owner has ended.
        let world = World::new(7);
        let other = spawn(&world, World::reader);
        assert!(world.reader());
        assert!(other.join().unwrap());
        assert_eq!(world.word.load(Ordering::Acquire), 0);
    });
}

#[test]
fn loom_a_reader_and_a_scope() {
    loom::model(|| {
        let world = World::new(0);
        let scope = spawn(&world, |world| world.scope(1));
        let read = world.reader();
        let wrote = scope.join().unwrap();
        assert!(read || wrote, "one of them comes first");
        // The scope has ended.
        assert!(world.reader());
    });
}

#[test]
fn loom_two_readers_and_a_scope() {
    loom::model(|| {
        let world = World::new(0);
        let scope = spawn(&world, |world| world.scope(1));
        let other = spawn(&world, World::reader);
        world.reader();
        scope.join().unwrap();
        other.join().unwrap();
        assert!(!is_lent(world.word.load(Ordering::Acquire)));
        assert!(world.scope(2));
    });
}

/// A datum that is not idle keeps its owner, and no reader gets in.
#[test]
fn loom_readers_of_a_datum_in_use() {
    fn refused(world: &World) -> bool {
        enter(&world.word, || world.alive.lock(), World::has_ended, || false).is_none()
    }
    loom::model(|| {
        let world = World::new(7);
        let other = spawn(&world, refused);
        assert!(refused(&world));
        assert!(other.join().unwrap());
        assert_eq!(world.word.load(Ordering::Acquire), 7);
    });
}
