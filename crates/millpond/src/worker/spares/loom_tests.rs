//! Slots that are lent and taken back while spare threads rest and are called.

use loom::sync::Arc;
use loom::sync::atomic::AtomicIsize;
use loom::thread;

use super::*;

/// Runs a model with so many spares. Each is a thread that was started, in the model's beginning, and rests.
struct World {
    spares: Spares,
    /// Spares that may work, less slots that are lent, as the threads see it after each step of theirs.
    lent: AtomicIsize,
}

impl World {
    fn new(number: usize) -> Arc<Self> {
        let world = World { spares: Spares::new(0, number), lent: AtomicIsize::new(0) };
        for seat in 0..number {
            assert_eq!(world.spares.lend(), Taker::Start(seat));
        }
        for seat in 0..number {
            let _rings = world.spares.take_back().count();
            assert!(world.spares.rest(seat), "there is one too many");
        }
        Arc::new(world)
    }

    fn lend(&self) -> Taker {
        let taker = self.spares.lend();
        if taker != Taker::Nobody {
            self.lent.fetch_add(1, AcqRel);
        }
        taker
    }

    fn take_back(&self) {
        self.lent.fetch_sub(1, AcqRel);
        let _rings = self.spares.take_back().count();
    }

    fn up(&self) -> usize {
        (0..self.spares.up.len()).filter(|&seat| self.spares.is_up(seat)).count()
    }

    /// When no thread is in the middle of a step.
    fn check(&self) {
        let surplus = self.spares.surplus.load(Acquire) as isize;
        assert_eq!(self.up() as isize - self.lent.load(Acquire), surplus);
    }
}

/// Two threads lend their slots and take them back, with a spare for each: neither is refused, though a spare rests
/// meanwhile, at one boundary of its tasks or another.
#[test]
fn loom_a_slot_is_never_refused_while_a_spare_rests() {
    loom::model(|| {
        let world = World::new(2);
        let lender = |world: &Arc<World>| {
            let world = world.clone();
            move || {
                assert_ne!(world.lend(), Taker::Nobody);
                world.take_back();
            }
        };
        let other = thread::spawn(lender(&world));
        let spare = {
            let world = world.clone();
            thread::spawn(move || (0..2).for_each(|seat| _ = world.spares.is_up(seat) && world.spares.rest(seat)))
        };
        lender(&world)();
        other.join().unwrap();
        spare.join().unwrap();
        world.check();
        // All rest in the end, if they look.
        (0..2).for_each(|seat| _ = world.spares.is_up(seat) && world.spares.rest(seat));
        world.check();
        assert_eq!(world.up(), 0);
    });
}

/// As many slots are lent as there are spares, no more, whoever comes first; what is taken back can be lent again.
#[test]
fn loom_no_spare_has_two_slots() {
    loom::model(|| {
        let world = World::new(1);
        let other = {
            let world = world.clone();
            thread::spawn(move || world.lend())
        };
        let mine = world.lend();
        let theirs = other.join().unwrap();
        let takers = [mine, theirs];
        assert!(takers.contains(&Taker::Call(0)) && takers.contains(&Taker::Nobody), "{takers:?}");
        world.check();
        world.take_back();
        assert_eq!(world.lend(), Taker::Somebody, "it is up");
        world.check();
    });
}
