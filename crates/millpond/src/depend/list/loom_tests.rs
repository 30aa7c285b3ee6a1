//! Models of the list scheme. The value of the version is a cell that loom watches: whoever is granted an access
//! touches it, and so does the issuer when the scheme says that it may.

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;
use crate::sync::Arc;
use Mode::{Concurrent, Inout, Read};

/// One version and the accesses of a program to it, in order of issue.
struct World {
    meta: std::cell::UnsafeCell<ListMeta>,
    records: Vec<Record>,
    value: UnsafeCell<usize>,
    /// How often the version was freed.
    freed: UnsafeCell<u32>,
    ran: Vec<AtomicU32>,
}

// SAFETY: whether the cells are touched in order is what the models are about.
unsafe impl Sync for World {}
// SAFETY: as above; the records' pointers are numbers.
unsafe impl Send for World {}

impl World {
    fn new(modes: &[Mode]) -> Arc<World> {
        let record = |(number, &mode): (usize, &Mode)| {
            // The task's address is the record's number: nobody follows it.
            let task = ptr::without_provenance_mut(number + 1);
            let task = ptr::NonNull::new(task).unwrap();
            Record::new(ptr::NonNull::dangling(), task, 0, mode, mode)
        };
        Arc::new(World {
            meta: std::cell::UnsafeCell::default(),
            records: modes.iter().enumerate().map(record).collect(),
            value: UnsafeCell::new(0),
            freed: UnsafeCell::new(0),
            ran: modes.iter().map(|_| AtomicU32::new(0)).collect(),
        })
    }

    fn meta(&self) -> &ListMeta {
        // SAFETY: exclusive only in `free`, and there loom looks whether somebody else uses it.
        unsafe { &*self.meta.get() }
    }

    /// Frees the version: from here on, loom finds who still touches it.
    fn free(&self) {
        self.freed.with_mut(|freed| {
            // SAFETY: loom checks it.
            unsafe { *freed += 1 };
        });
        // SAFETY: as above.
        let meta = unsafe { &mut *self.meta.get() };
        meta.state.with_mut(|_| ());
        meta.head.with_mut(|head| *head = ptr::null_mut());
    }

    /// What access `number` must find: the number of the last one before it that writes.
    fn expected(&self, number: usize) -> usize {
        let before = &self.records[..number];
        before.iter().rposition(|record| !record.mode().shares()).map_or(0, |last| last + 1)
    }

    fn look(&self, number: usize) {
        self.value.with(|value| {
            // SAFETY: loom checks it.
            assert_eq!(unsafe { *value }, self.expected(number));
        });
    }

    fn change(&self, number: usize, to: usize) {
        self.value.with_mut(|value| {
            // SAFETY: loom checks it.
            assert_eq!(unsafe { *value }, self.expected(number));
            // SAFETY: as above.
            unsafe { *value = to };
        });
    }

    fn issue(&self, number: usize) -> bool {
        // SAFETY: one thread issues; the records outlive the model.
        unsafe { List::issue(self.meta(), &self.records[number]) }
    }

    /// Runs a granted access and all that its release grants.
    fn run(&self, number: usize) {
        let mut todo = vec![number];
        while let Some(number) = todo.pop() {
            self.ran[number].fetch_add(1, Ordering::Relaxed);
            if self.records[number].mode().shares() {
                self.look(number);
            } else {
                self.change(number, number + 1);
            }
            let mut grant = |record: &Record| todo.push(record.task().as_ptr().addr() - 1);
            // SAFETY: issued, granted, and released once.
            if unsafe { List::release(self.meta(), &self.records[number], &mut grant) } {
                self.free();
            }
        }
    }

    /// Issues accesses; runs those that were granted at once after that.
    fn issue_and_run(&self, numbers: impl Iterator<Item = usize>) {
        let granted: Vec<_> = numbers.filter(|&number| self.issue(number)).collect();
        granted.into_iter().for_each(|number| self.run(number));
    }

    fn all_ran_once(&self) {
        assert!(self.ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1));
        assert!(List::is_idle(self.meta()));
    }
}

fn runs(world: &Arc<World>, number: usize) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || world.run(number))
}

fn join(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two readers run while a writer, two readers and a writer are issued behind them.
#[test]
fn loom_readers_writer_readers_writer() {
    loom::model(|| {
        let world = World::new(&[Read, Read, Inout, Read, Read, Inout]);
        let threads = [0, 1].map(|number| {
            assert!(world.issue(number));
            runs(&world, number)
        });
        world.issue_and_run(2..6);
        join(threads);
        world.all_ran_once();
    });
}

/// Readers join a generation that is open, and empties meanwhile.
#[test]
fn loom_readers_join_while_it_empties() {
    loom::model(|| {
        let world = World::new(&[Read, Read, Read, Read, Inout]);
        let threads = [0, 1].map(|number| {
            assert!(world.issue(number));
            runs(&world, number)
        });
        world.issue_and_run(2..5);
        join(threads);
        world.all_ran_once();
    });
}

/// A chain of inouts is issued while its head runs; a generation of another kind of sharers is at its end.
#[test]
fn loom_a_chain() {
    loom::model(|| {
        let world = World::new(&[Inout, Inout, Inout, Concurrent, Read]);
        assert!(world.issue(0));
        let threads = [runs(&world, 0)];
        world.issue_and_run(1..5);
        join(threads);
        world.all_ran_once();
    });
}

/// The issuer does at once what the scheme says would be granted at once, without issuing it.
#[test]
fn loom_the_issuer_looks() {
    loom::model(|| {
        let world = World::new(&[Inout, Read, Read]);
        assert!(world.issue(0));
        let first = runs(&world, 0);
        let mut granted = vec![];
        for number in [1, 2] {
            if List::is_ready(world.meta(), Read) {
                world.look(number);
            }
            if world.issue(number) {
                granted.push(number);
            }
        }
        if List::is_ready(world.meta(), Read) {
            world.look(3);
        }
        granted.into_iter().for_each(|number| world.run(number));
        if List::is_ready(world.meta(), Inout) {
            world.change(3, 1);
        }
        join([first]);
        world.all_ran_once();
    });
}

/// As above with readers that run at once on two threads: the issuer writes the value when the version is idle.
#[test]
fn loom_the_issuer_writes_when_idle() {
    loom::model(|| {
        let world = World::new(&[Read, Read, Inout]);
        let threads = [0, 1].map(|number| {
            assert!(world.issue(number));
            runs(&world, number)
        });
        if List::is_idle(world.meta()) {
            world.change(0, 0);
        }
        if List::is_ready(world.meta(), Inout) {
            world.change(2, 0);
        }
        world.issue_and_run(2..3);
        if List::is_idle(world.meta()) {
            world.change(3, 9);
        }
        join(threads);
        world.all_ran_once();
    });
}

/// The issuer retires the version while its last accesses are released: it is freed once, and nobody touches it later.
#[test]
fn loom_retire_races_with_releases() {
    loom::model(|| {
        let world = World::new(&[Read, Read]);
        let threads = [0, 1].map(|number| {
            assert!(world.issue(number));
            runs(&world, number)
        });
        retire(&world);
        join(threads);
        world.freed_once();
    });
}

/// As above with an access that waits.
#[test]
fn loom_retire_with_one_waiting() {
    loom::model(|| {
        let world = World::new(&[Inout, Inout]);
        assert!(world.issue(0));
        let threads = [runs(&world, 0)];
        let granted = world.issue(1);
        retire(&world);
        if granted {
            world.run(1);
        }
        join(threads);
        world.freed_once();
    });
}

fn retire(world: &World) {
    // SAFETY: this thread issues, and nothing afterwards.
    if unsafe { List::retire(world.meta()) } {
        world.free();
    }
}

impl World {
    fn freed_once(&self) {
        self.freed.with(|freed| {
            // SAFETY: the threads were joined.
            assert_eq!(unsafe { *freed }, 1);
        });
        assert!(self.ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1));
    }
}
