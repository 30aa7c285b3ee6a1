//! Tasks that need two exclusions each, declared in opposite orders.

use std::panic::Location;
use std::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;
use crate::handle::version::{Allocation, VersionKind};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::task::ScopePtr;
use crate::task::{Header, VTable};

/// A task's block, without payload.
#[repr(C)]
struct Block {
    header: Header,
    records: [Record; 2],
}

struct World {
    versions: [Version; 2],
    guarded: [UnsafeCell<u32>; 2],
    ran: AtomicU32,
}

// SAFETY: the models check that one thread at a time touches the cells.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        let version = || Version::new(VersionKind::of::<u32>(), Allocation::First, NonNull::dangling());
        Arc::new(World {
            versions: [version(), version()],
            guarded: [UnsafeCell::new(0), UnsafeCell::new(0)],
            ran: AtomicU32::new(0),
        })
    }

    /// A task that declares both versions, in this order. Its block is never freed.
    fn task(&self, order: [usize; 2]) -> TaskRef {
        let record = |place: usize, version: usize| {
            let target = NonNull::from(&self.versions[version]).cast();
            let behind = size_of::<Header>() + place * size_of::<Record>();
            Record::new(target, behind, 0, Mode::Commutative, false)
        };
        let header = || Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, Location::caller());
        let records = [record(0, order[0]), record(1, order[1])];
        let block = Box::leak(Box::new(Block { header: header(), records }));
        let task = TaskRef(NonNull::from(block).cast());
        task.expose();
        task.set_accesses(2);
        task.add_flags(flag::COMMUTATIVE);
        task
    }

    /// Runs a task that has its exclusions, and the tasks that get all of theirs from it.
    fn run(&self, task: TaskRef) {
        let mut todo = vec![task];
        while let Some(task) = todo.pop() {
            self.ran.fetch_add(1, Ordering::Relaxed);
            assert!(!self.versions.iter().any(|version| version.exclusion.try_acquire()), "both are held");
            for cell in &self.guarded {
                cell.with_mut(|guarded| {
                    // SAFETY: loom checks the access.
                    unsafe { *guarded += 1 };
                });
            }
            todo.extend(task.records().iter().rev().filter_map(|record| hand_over(record.version(), |_| ())));
        }
    }
}

fn model(orders: &'static [[usize; 2]]) {
    loom::model(move || {
        let world = World::new();
        let threads: Vec<_> = orders
            .iter()
            .map(|&order| {
                let (world, task) = (world.clone(), world.task(order));
                thread::spawn(move || {
                    let task = { task };
                    if acquire_all(task) {
                        world.run(task);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.ran.load(Ordering::Relaxed) as usize, orders.len());
        assert!(world.versions.iter().all(|version| version.exclusion.try_acquire()));
    });
}

#[test]
fn loom_opposite_orders() {
    model(&[[0, 1], [1, 0]]);
}

#[test]
fn loom_three_tasks_of_two_exclusions() {
    model(&[[0, 1], [1, 0], [0, 1]]);
}
