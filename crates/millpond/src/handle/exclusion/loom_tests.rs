//! Models of the hand-over. The exclusion guards a cell that loom watches.

use std::ptr;

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;
use crate::depend::Mode;
use crate::sync::Arc;
use crate::sync::atomic::AtomicU32;

struct World {
    exclusion: Exclusion,
    records: Vec<Record>,
    guarded: UnsafeCell<u32>,
    ran: AtomicU32,
}

// SAFETY: the models check that one thread at a time touches the cell.
unsafe impl Sync for World {}
// SAFETY: as above; the records' pointers are numbers.
unsafe impl Send for World {}

impl World {
    fn new(tasks: usize) -> Arc<World> {
        let mode = Mode::Commutative;
        let record = |_| Record::new(NonNull::dangling(), 0, 0, mode, false);
        Arc::new(World {
            exclusion: Exclusion::default(),
            records: (0..tasks).map(record).collect(),
            guarded: UnsafeCell::new(0),
            ran: AtomicU32::new(0),
        })
    }

    /// The body of a task that holds the exclusion.
    fn body(&self) {
        self.ran.fetch_add(1, Ordering::Relaxed);
        self.guarded.with_mut(|guarded| {
            // SAFETY: loom checks it.
            unsafe { *guarded += 1 };
        });
    }

    /// Runs one body, and the body of each record that gets the exclusion.
    fn hold(&self) {
        self.body();
        while let Some(next) = self.exclusion.release() {
            assert!(self.records.iter().any(|record| ptr::eq(record, next.as_ptr())));
            self.body();
        }
    }

    fn task(&self, number: usize) {
        if self.exclusion.acquire(&self.records[number]) {
            self.hold();
        }
    }

    fn all_ran(&self, bodies: u32) {
        assert_eq!(self.ran.load(Ordering::Relaxed), bodies);
        assert!(self.exclusion.try_acquire());
    }
}

fn spawn(world: &Arc<World>, body: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

#[test]
fn loom_two_tasks() {
    loom::model(|| {
        let world = World::new(2);
        let other = spawn(&world, |world| world.task(1));
        world.task(0);
        other.join().unwrap();
        world.all_ran(2);
    });
}

#[test]
fn loom_three_tasks() {
    loom::model(|| {
        let world = World::new(3);
        let others = [1, 2].map(|number| spawn(&world, move |world| world.task(number)));
        world.task(0);
        others.into_iter().for_each(|other| other.join().unwrap());
        world.all_ran(3);
    });
}

/// One task takes the exclusion only if it is free.
#[test]
fn loom_a_task_that_does_not_wait() {
    loom::model(|| {
        let world = World::new(2);
        let others = [0, 1].map(|number| spawn(&world, move |world| world.task(number)));
        let mut ran = 2;
        if world.exclusion.try_acquire() {
            world.hold();
            ran = 3;
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        world.all_ran(ran);
    });
}
