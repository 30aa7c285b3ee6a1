//! Models of the end of a phase. A worker that is left asleep shows as a deadlock, and a task that
//! is left behind as a wrong count.

use loom::thread;

use super::*;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::Relaxed;

/// Tasks as numbers: how many others each one will put.
struct World {
    phase: Phase,
    /// How many tasks there are that put no other, and that put one.
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

    /// Takes a task, if there are at most two of its kind.
    fn take(&self) -> Option<usize> {
        let taken =
            |tasks: &AtomicUsize| [1, 2].iter().any(|&n| tasks.compare_exchange(n, n - 1, AcqRel, Relaxed).is_ok());
        (0..2).rev().find(|&kind| taken(&self.tasks[kind]))
    }

    fn work(&self, number: usize, mut member: Member<'_>) {
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

/// `first` tasks of each kind exist at the start, and `later` are put. All are run, whichever
/// thread comes first. This thread is a member before the other one comes.
fn all_are_run(first: [usize; 2], later: usize, also: fn(&World, Member<'_>)) {
    loom::model(move || {
        let world =
            World { phase: Phase::new(2, Idle::Sleep), tasks: first.map(AtomicUsize::new), run: AtomicUsize::new(0) };
        let world = Arc::new(world);
        let member = world.phase.enter();
        let other = thread::spawn({
            let world = world.clone();
            move || world.work(1, world.phase.enter())
        });
        also(&world, member);
        other.join().unwrap();
        assert_eq!(world.run.load(Relaxed), first[0] + 2 * first[1] + later);
        assert!(!world.has_work() && world.phase.all_are_idle());
        assert_eq!(world.phase.sleep.sleepers(), 0);
    });
}

#[test]
fn a_task_that_puts_another() {
    all_are_run([0, 1], 0, |world, member| world.work(0, member));
}

#[test]
fn a_task_for_each() {
    all_are_run([2, 0], 0, |world, member| world.work(0, member));
}

#[test]
fn none_at_all() {
    all_are_run([0, 0], 0, |world, member| world.work(0, member));
}

/// A worker that panics: its phase ends in a drop. It shows the tasks that it put before that.
#[test]
fn one_that_leaves_a_task() {
    all_are_run([0, 0], 1, |world, member| {
        world.put(0);
        drop(member);
    });
}

/// A worker whose phase begins when the other worker's may have ended.
#[test]
fn one_that_begins_again() {
    all_are_run([0, 0], 1, |world, member| {
        world.work(0, member);
        world.put(0);
        world.work(0, world.phase.enter());
    });
}
