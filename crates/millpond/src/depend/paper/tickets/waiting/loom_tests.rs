//! Models of the pool with workers that sleep. Two tasks are put, a release makes them ready, and
//! another thread finds each. A task that no thread finds shows as a deadlock.

use loom::thread;

use super::*;
use crate::depend::Mode;
use crate::sync::Arc;
use crate::task::ScopePtr;
use crate::task::VTable;
use crate::worker::sleep::{Idle, Sleep};

/// A task of one access, with the layout of a task block.
#[repr(C)]
struct Block {
    header: Header,
    record: Record,
}

struct World {
    pool: Pool,
    sleep: Sleep,
    /// The counter that all tasks wait for, like a version's.
    released: AtomicUsize,
}

fn task() -> TaskRef {
    let record = Record::new(NonNull::dangling(), size_of::<Header>(), 0, Mode::Read, false);
    let header = Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, std::panic::Location::caller());
    let task = TaskRef(NonNull::from(Box::leak(Box::new(Block { header, record }))).cast());
    task.expose();
    task.set_accesses(1);
    task
}

impl World {
    fn is_ready(&self) -> impl Fn(TaskRef) -> bool {
        |_| self.released.load(SeqCst) != 0
    }

    /// Puts a task. Returns whether it is ready, so that the caller owns it.
    fn put(&self) -> bool {
        !self.pool.put(task(), 0, 0, self.is_ready())
    }

    /// Like `Tickets::release` and `Worker::release_one`.
    fn release(&self) {
        self.released.fetch_add(1, SeqCst);
        self.pool.note_release();
        if self.pool.has_changed() {
            self.sleep.work_arrived_in_order();
        }
    }

    /// Like `Worker::search`.
    fn search(&self) -> bool {
        let found = self.pool.find(self.is_ready()).is_some();
        if found && self.sleep.sleepers() != 0 && self.pool.has_changed() {
            self.sleep.work_arrived();
        }
        found
    }

    /// A worker that runs until it has a task, and never returns from that task.
    fn worker(&self, seat: usize) {
        while !self.search() {
            self.sleep.wait(seat, &|| self.pool.has_changed());
        }
    }
}

fn model(test: impl Fn(&Arc<World>) + Sync + Send + 'static) {
    loom::model(move || {
        let sleep = Sleep::new(2, Idle::Sleep);
        test(&Arc::new(World { pool: Pool::default(), sleep, released: AtomicUsize::new(0) }));
    });
}

fn spawn(world: &Arc<World>, body: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

/// The releasing thread takes one task and goes away. A sleeper wakes for the other one.
#[test]
fn loom_a_release_of_two_with_a_sleeper() {
    model(|world| {
        assert!(!world.put() && !world.put());
        let sleeper = spawn(world, |world| world.worker(0));
        world.release();
        world.search();
        sleeper.join().unwrap();
    });
}

/// Two sleepers, and one thread that releases and takes no task.
#[test]
fn loom_a_release_of_two_with_two_sleepers() {
    model(|world| {
        assert!(!world.put() && !world.put());
        let sleepers = [0, 1].map(|seat| spawn(world, move |world| world.worker(seat)));
        world.release();
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}

/// A task is put while another thread releases. The putter owns it, or a worker finds it.
#[test]
fn loom_a_put_beside_a_release() {
    model(|world| {
        let sleeper = spawn(world, |world| {
            if !world.put() {
                world.worker(0);
            }
        });
        world.release();
        sleeper.join().unwrap();
    });
}
