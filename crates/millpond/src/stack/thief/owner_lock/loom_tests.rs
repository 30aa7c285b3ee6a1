//! Models of the owner lock on a system without membarrier. Loom has no membarrier, so both sides
//! issue a fence, and the word is never clear. With membarrier, T3 puts that fence into the owner's
//! steps, with the same consequences.
//!
//! The stack is an array of places. Loom watches the cell at each place. A thief reads each cell
//! that it scans, even if the closure is taken (O1 to T4). The cursor is relaxed, so that only the
//! owner lock orders it.

use loom::thread;

use super::*;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::atomic::{AtomicBool, AtomicUsize};

const CLOSURES: usize = 2;
const TAKEN: usize = 1;

/// The place of a closure.
#[derive(Default)]
struct ClosureCell {
    closure: Guarded<usize>,
    is_stolen: AtomicBool,
}

/// The wish of a scan, and the closure that it has found.
type Found = (u64, usize);

struct World {
    guard: OwnerLock<Found>,
    /// Twice the next place, and [`TAKEN`].
    cursor: AtomicUsize,
    top: AtomicUsize,
    places: [ClosureCell; CLOSURES],
    /// How often each closure has run.
    ran: [Guarded<u32>; CLOSURES],
    /// Whether one of the threads that may continue with the stack has arrived.
    met: AtomicBool,
}

// SAFETY: the models check that the threads access the cells in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// A stack that the caller has entered.
    fn entered() -> Arc<World> {
        let world = World {
            guard: OwnerLock::new(),
            cursor: AtomicUsize::new(0),
            top: AtomicUsize::new(0),
            places: Default::default(),
            ran: Default::default(),
            met: AtomicBool::new(false),
        };
        world.guard.enter();
        Arc::new(world)
    }

    /// A stack that holds all closures.
    fn full() -> Arc<World> {
        let world = World::entered();
        (0..CLOSURES).for_each(|closure| world.put(closure, closure));
        world
    }

    fn put(&self, place: usize, closure: usize) {
        self.places[place].closure.set(closure);
        self.places[place].is_stolen.store(false, Relaxed);
        self.top.store(place + 1, Release);
    }

    /// The end of each step of the owner.
    fn look(&self) {
        if !self.guard.is_clear() {
            self.guard.meet(|wish| self.scan(wish));
        }
    }

    fn push(&self, place: usize, closure: usize) {
        self.put(place, closure);
        self.look();
    }

    /// Takes the closure at a place, and runs it if it was not stolen.
    fn take(&self, place: usize) {
        self.cursor.store(2 * place | TAKEN, Relaxed);
        self.look();
        if !self.places[place].is_stolen.load(Relaxed) {
            self.run(self.places[place].closure.get());
        }
        // The next step announces it.
        self.cursor.store(2 * (place + 1), Relaxed);
    }

    /// Takes the first closure that no thread has taken, and reads the ones before it.
    fn scan(&self, wish: u64) -> Option<Found> {
        let cursor = self.cursor.load(Relaxed);
        (cursor / 2..self.top.load(Acquire)).find_map(|place| {
            let closure = self.places[place].closure.get();
            let is_taken = cursor == 2 * place | TAKEN;
            let takes = !is_taken && !self.places[place].is_stolen.swap(true, Relaxed);
            takes.then_some((wish, closure))
        })
    }

    /// One visit of a thief with a wish. The thief runs the closure that it finds.
    fn visit(&self, wish: u64) {
        if let Some((wished, closure)) = self.guard.visit(wish, |_| self.scan(wish), || wish == 1) {
            assert_eq!(wished, wish);
            self.run(closure);
        }
    }

    fn run(&self, closure: usize) {
        self.ran[closure].set(self.ran[closure].get() + 1);
    }

    fn all_ran_once(&self) {
        assert!(self.ran.iter().all(|ran| ran.get() == 1));
    }
}

fn spawn(world: &Arc<World>, body: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

/// Runs an owner with `thieves` thieves.
fn with_thieves(thieves: u64, world: fn() -> Arc<World>, own: fn(&World)) {
    loom::model(move || {
        let world = world();
        let thieves: Vec<_> = (1..=thieves).map(|thief| spawn(&world, move |world| world.visit(thief))).collect();
        own(&world);
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        world.all_ran_once();
    });
}

fn take_all(world: &World) {
    (0..CLOSURES).for_each(|place| world.take(place));
}

#[test]
fn loom_an_owner_and_a_thief() {
    with_thieves(1, World::full, take_all);
}

/// One thief comes twice. At the second visit, all threads see its first scan.
#[test]
fn loom_a_thief_comes_twice() {
    loom::model(|| {
        let world = World::full();
        let thief = spawn(&world, |world| {
            world.visit(1);
            world.visit(2);
        });
        take_all(&world);
        thief.join().unwrap();
        world.all_ran_once();
    });
}

#[test]
fn loom_an_owner_and_two_thieves() {
    with_thieves(2, World::full, take_all);
}

/// The owner pushes closures while a thief scans.
#[test]
fn loom_an_owner_pushes() {
    with_thieves(1, World::entered, |world| {
        (0..CLOSURES).for_each(|closure| world.push(closure, closure));
        take_all(world);
    });
}

/// The second closure goes where the first was. No thief may scan that place meanwhile.
#[test]
fn loom_an_owner_writes_over() {
    with_thieves(1, World::entered, |world| {
        world.push(0, 0);
        world.take(0);
        world.guard.alone(|| {
            world.top.store(0, Relaxed);
            world.cursor.store(0, Relaxed);
        });
        world.push(0, 1);
        world.take(0);
    });
}

/// Continues with a stack that was left, if the other thread that may do so has arrived.
fn go_on(world: &World) {
    if world.met.swap(true, Relaxed) {
        world.guard.enter();
        world.take(1);
    }
}

/// The owner leaves. The thread that arrives last continues, and only the owner lock tells it what
/// was done before.
#[test]
fn loom_a_stack_is_left() {
    loom::model(|| {
        let world = World::full();
        let others = [spawn(&world, |world| world.visit(1)), spawn(&world, go_on)];
        world.take(0);
        world.guard.leave();
        go_on(&world);
        others.into_iter().for_each(|other| other.join().unwrap());
        world.all_ran_once();
    });
}
