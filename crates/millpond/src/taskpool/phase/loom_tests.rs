//! Models of the end of a phase. A worker that is left asleep shows as a deadlock, a task that is left behind as a wrong
//! count.

use loom::thread;

use super::*;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::Relaxed;

/// Tasks as numbers: how many others each still puts.
struct World {
    phase: Phase,
    /// How many tasks of one and of no other to put there are.
    tasks: [AtomicUsize; 2],
    run: AtomicUsize,
}

impl World {
    fn put(&self, kind: usize) {
        self.tasks[kind].fetch_add(1, AcqRel);
        self.phase.sleep.work_arrived();
    }

    fn has_work(&self) -> bool {
        self.tasks.iter().any(|tasks| tasks.load(Relaxed) != 0)
    }

    /// Takes one of two at most.
    fn take(&self) -> Option<usize> {
        let taken =
            |tasks: &AtomicUsize| [1, 2].iter().any(|&n| tasks.compare_exchange(n, n - 1, AcqRel, Relaxed).is_ok());
        (0..2).rev().find(|&kind| taken(&self.tasks[kind]))
    }

    fn work(&self, number: usize) {
        let mut member = self.phase.enter();
        loop {
            while let Some(kind) = self.take() {
                self.run.fetch_add(1, Relaxed);
                (0..kind).for_each(|_| self.put(0));
            }
            if !member.wait_for_work(number, || self.has_work()) {
                return;
            }
        }
    }
}

/// `first` tasks of each kind are there at the start; all are run, whoever comes first.
fn all_are_run(first: [usize; 2], also: fn(&World)) {
    loom::model(move || {
        let world =
            World { phase: Phase::new(2, Idle::Sleep), tasks: first.map(AtomicUsize::new), run: AtomicUsize::new(0) };
        let world = Arc::new(world);
        let other = thread::spawn({
            let world = world.clone();
            move || world.work(1)
        });
        also(&world);
        other.join().unwrap();
        assert_eq!(world.run.load(Relaxed), first[0] + 2 * first[1]);
        assert!(!world.has_work() && world.phase.nobody_works());
        assert_eq!(world.phase.sleep.sleepers(), 0);
    });
}

#[test]
fn a_task_that_puts_another() {
    all_are_run([0, 1], |world| world.work(0));
}

#[test]
fn a_task_for_each() {
    all_are_run([2, 0], |world| world.work(0));
}

#[test]
fn none_at_all() {
    all_are_run([0, 0], |world| world.work(0));
}

/// A worker that panics: its phase ends in a drop.
#[test]
fn one_that_does_not_wait() {
    all_are_run([1, 0], |world| drop(world.phase.enter()));
}
