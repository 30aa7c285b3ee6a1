//! Models of W1 to W5, with the real owner lock and the real sleep. A closure that the owner pushes
//! must reach a sleeping worker, while the owner waits for that. A lost wake-up shows as a
//! deadlock. The sentinel's naps take no time here: it scans again after other threads have done
//! something.

use loom::thread;

use std::cell::Cell;
use std::num::NonZero;
use std::ptr::NonNull;

use crate::stack::thief::owner_lock::{Met, OwnerLock};
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::sync::atomic::{AtomicBool, AtomicUsize, fence};
use crate::sync::{Arc, barrier, spin_for_lock};
use crate::task::TaskRef;
use crate::worker::sleep::{Idle, Sleep};

const PLACES: usize = 3;
const TAKEN: usize = 1;

struct World {
    guard: OwnerLock<TaskRef>,
    sleep: Sleep,
    /// Twice the next place, and [`TAKEN`].
    cursor: AtomicUsize,
    top: AtomicUsize,
    /// How often the owner rewound the stack.
    rounds: AtomicUsize,
    is_stolen: [AtomicBool; PLACES],
    /// Whether each closure waits for the end of the theft of the one before it. Then the thefts
    /// that have ended, and their number.
    is_chain: AtomicBool,
    has_ended: [AtomicBool; PLACES],
    thefts: AtomicUsize,
    is_watched: AtomicBool,
    /// The stack as a scan saw it that found nothing, as in `scan::Search`.
    searched: AtomicUsize,
    /// Whether the sentinel sleeps without a timeout as soon as it may (W4). Otherwise it never
    /// does.
    rests: bool,
    /// Whether the closure is a parent, which is wider than others, and whether its frame is open.
    is_parent: AtomicBool,
    is_open: AtomicBool,
    /// Whether an inline subtree runs: the owner calls its children, and publishes nothing.
    calls: AtomicBool,
}

impl World {
    fn new(rests: bool) -> Arc<World> {
        Arc::new(World {
            guard: OwnerLock::new(),
            sleep: Sleep::new(2, Idle::Sleep),
            cursor: AtomicUsize::new(0),
            top: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            is_stolen: Default::default(),
            is_chain: AtomicBool::new(false),
            has_ended: Default::default(),
            thefts: AtomicUsize::new(0),
            is_watched: AtomicBool::new(false),
            searched: AtomicUsize::new(usize::MAX),
            rests,
            is_parent: AtomicBool::new(false),
            is_open: AtomicBool::new(false),
            calls: AtomicBool::new(false),
        })
    }

    /// As `Frames::may_have_work`.
    fn may_have_work(&self) -> bool {
        let cursor = self.cursor.load(Acquire);
        let above = self.top.load(Acquire).wrapping_sub(cursor / 2) as isize;
        self.is_open.load(Relaxed) || above + isize::from(self.is_parent.load(Relaxed)) > (cursor & TAKEN) as isize
    }

    /// The end of each step of the owner, as `Worker::meet`.
    fn look(&self) {
        if !self.guard.is_clear() && self.guard.meet(|_wish| self.scan()) == Met::FirstStep {
            self.sleep.work_arrived();
        }
    }

    fn push(&self) {
        self.top.store(self.top.load(Relaxed) + 1, Release);
        self.look();
    }

    /// Takes the next closure. Returns whether it was still there.
    fn take(&self) -> bool {
        let at = self.cursor.load(Relaxed);
        self.cursor.store(at | TAKEN, Release);
        self.look();
        !self.is_stolen[at / 2].load(Acquire)
    }

    /// The closure is a parent, which must not run on this thread's stack. The next owner finds the
    /// stack as it was.
    fn leave_at_parent(&self) {
        self.cursor.store(self.cursor.load(Relaxed) & !TAKEN, Release);
        self.guard.leave();
    }

    /// All closures have run: the stack is empty.
    fn rewind(&self) {
        self.guard.alone(|| {
            self.rounds.store(self.rounds.load(Relaxed) + 1, Release);
            self.is_stolen[0].store(false, Relaxed);
            self.top.store(0, Release);
            self.cursor.store(0, Release);
        });
    }

    /// As `Frames::peek`.
    fn peek(&self) -> usize {
        World::peek_of(self.cursor.load(Acquire), self.top.load(Acquire), self.changes())
    }

    fn peek_of(cursor: usize, top: usize, changes: usize) -> usize {
        cursor << 16 | top << 8 | changes
    }

    fn changes(&self) -> usize {
        self.rounds.load(Acquire) + self.thefts.load(Acquire)
    }

    fn scan(&self) -> Option<TaskRef> {
        let changes = self.changes();
        let (cursor, top) = (self.cursor.load(Acquire), self.top.load(Acquire));
        let mut places = cursor / 2 + (cursor & TAKEN)..top;
        let is_chain = self.is_chain.load(Relaxed);
        let waits = |place: usize| is_chain && place > 0 && !self.has_ended[place - 1].load(Acquire);
        let Some(found) = places.find(|&place| !waits(place) && !self.is_stolen[place].swap(true, Relaxed)) else {
            self.searched.store(World::peek_of(cursor, top, changes), Relaxed);
            return None;
        };
        Some(TaskRef(NonNull::without_provenance(NonZero::new(found + 1).unwrap())))
    }

    /// Steals as `Worker::steal_from` does. Returns the place of the stolen closure.
    fn steal(&self, watches: &Cell<bool>) -> Option<usize> {
        if !self.may_have_work() || !self.is_new() {
            return None;
        }
        let stolen = self.guard.visit(1, |_| self.scan(), || self.calls.load(Relaxed))?;
        self.stop_watching(watches);
        self.pass_look_on();
        Some(stolen.0.addr().get() - 1)
    }

    /// Runs a stolen closure, and ends the theft as `Worker::end_theft`.
    fn run(&self, stolen: usize) {
        self.has_ended[stolen].store(true, Release);
        self.thefts.fetch_add(1, AcqRel);
        self.pass_look_on();
    }

    /// W3, as `Worker::pass_look_on`.
    fn pass_look_on(&self) {
        fence(SeqCst);
        if self.sleep.sleepers() != 0 && !self.is_watched.load(Relaxed) && self.may_have_work() {
            self.sleep.work_arrived();
        }
    }

    /// Returns whether the worker was the sentinel.
    fn stop_watching(&self, watches: &Cell<bool>) -> bool {
        if watches.get() {
            self.is_watched.store(false, Relaxed);
        }
        watches.take()
    }

    fn begin_watch(&self, watches: &Cell<bool>) {
        watches.set(self.is_watched.compare_exchange(false, true, Relaxed, Relaxed).is_ok());
    }

    /// As `Frames::is_new`.
    fn is_new(&self) -> bool {
        self.peek() != self.searched.load(Relaxed)
    }

    /// W4, as `Worker::are_quiet`.
    fn are_quiet(&self) -> bool {
        self.guard.make_fresh() && {
            barrier::heavy();
            !(self.may_have_work() && self.is_new())
        }
    }

    /// W5, as `Worker::are_empty`.
    fn are_empty(&self) -> bool {
        fence(SeqCst);
        !self.may_have_work()
    }

    /// As `Worker::watch`.
    fn watch(&self, watches: &Cell<bool>) -> bool {
        let is_empty = !self.may_have_work();
        let may_stop = is_empty || self.rests;
        if !is_empty && !watches.get() {
            self.begin_watch(watches);
        }
        if may_stop && self.stop_watching(watches) {
            let may_rest = if is_empty { self.are_empty() } else { self.are_quiet() };
            if !may_rest {
                self.begin_watch(watches);
            }
        }
        watches.get()
    }

    /// A worker that does not rely on others, until it has run a closure.
    fn look_until_stolen(&self) {
        let stolen = loop {
            match self.steal(&Cell::new(false)) {
                Some(stolen) => break stolen,
                None => spin_for_lock(),
            }
        };
        self.run(stolen);
    }

    /// A worker that sleeps while it finds nothing, until it has run a closure.
    fn sleep_until_stolen(&self, seat: usize) {
        let (watches, stolen) = (Cell::new(false), Cell::new(None));
        let stolen = loop {
            self.sleep.wait(seat, &|| {
                stolen.set(self.steal(&watches));
                stolen.get().is_some() || self.watch(&watches)
            });
            if let Some(stolen) = stolen.get() {
                break stolen;
            }
            // Its nap is over, or another worker has taken the closure that woke it. From here, the
            // model follows only one order of steps.
            spin_for_lock();
        };
        self.run(stolen);
    }
}

/// Runs `workers` threads that steal one closure each. Meanwhile the owner does something, and then
/// waits for them. The model runs with a sentinel that rests, and with one that does not.
/// `preemptions` can lower the bound that the environment sets.
fn model(workers: usize, preemptions: usize, own: fn(&World)) {
    for rests in [false, true] {
        model_with(workers, preemptions, rests, own);
    }
}

fn model_with(workers: usize, preemptions: usize, rests: bool, own: fn(&World)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.map(|bound| bound.min(preemptions));
    builder.check(move || {
        let world = World::new(rests);
        let sleeps = |seat| {
            let world = world.clone();
            thread::spawn(move || world.sleep_until_stolen(seat))
        };
        let threads: Vec<_> = (0..workers).map(sleeps).collect();
        world.guard.enter();
        own(&world);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn loom_an_owner_pushes_and_a_worker_sleeps() {
    model(1, usize::MAX, World::push);
}

/// One wake-up for two closures: the thief of the first one wakes the next worker. A third
/// preemption would take most of a minute.
#[test]
fn loom_an_owner_pushes_twice_and_two_workers_sleep() {
    model(2, 2, |world| {
        world.push();
        world.push();
    });
}

/// The end of the first theft makes the second closure ready. No step of the owner announces it.
#[test]
fn loom_the_end_of_a_theft_makes_another_ready() {
    model(2, 2, |world| {
        world.is_chain.store(true, Relaxed);
        world.push();
        world.push();
    });
}

/// The sentinel rests while another worker is woken.
#[test]
fn loom_a_parent_pushes_twice_and_two_workers_sleep() {
    model(2, 2, |world| {
        world.is_parent.store(true, Relaxed);
        world.push();
        if world.take() {
            world.is_open.store(true, Relaxed);
            world.push();
        }
        world.push();
    });
}

/// The owner runs the closure that it pushed, if it is not stolen. Then the stack is empty, and the
/// owner pushes again.
#[test]
fn loom_a_stack_is_filled_again() {
    model(1, usize::MAX, |world| {
        world.push();
        if world.take() {
            world.rewind();
            world.push();
        }
    });
}

/// The same, where the stack holds only the parent that runs: its body pushes.
#[test]
fn loom_a_parent_pushes() {
    model(1, usize::MAX, |world| {
        world.is_parent.store(true, Relaxed);
        world.push();
        if world.take() {
            world.is_open.store(true, Relaxed);
            world.push();
        }
    });
}

/// A parent comes next where the owner can run only leaves (`room`). The owner leaves the stack and
/// steals the parent itself, unless the other worker did. The other worker may have scanned while
/// the parent was taken. Each of them steals one of two closures.
#[test]
fn loom_an_owner_leaves_its_stack_at_a_parent() {
    model(1, 2, |world| {
        world.is_parent.store(true, Relaxed);
        world.is_chain.store(true, Relaxed);
        world.push();
        world.push();
        if world.take() {
            world.leave_at_parent();
            world.look_until_stolen();
        }
    });
}

/// An inline subtree: the owner calls what the parent's body spawns. It publishes nothing before a
/// thief asks or makes the word FRESH. If a thief scans between the take and the first call, it
/// finds nothing and does not make the word FRESH. Then W4 ends the inline subtree.
#[test]
fn loom_an_owner_calls_until_a_thief_asks() {
    model_with(1, 2, true, |world| {
        world.is_parent.store(true, Relaxed);
        world.push();
        if world.take() {
            world.is_open.store(true, Relaxed);
            world.calls.store(true, Relaxed);
            while world.guard.is_owned() {
                spin_for_lock();
            }
            world.calls.store(false, Relaxed);
            world.push();
        }
    });
}
