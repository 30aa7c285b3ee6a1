//! Models in which threads lend seats and take them back while spare threads rest and are called.

use loom::sync::Arc;
use loom::sync::atomic::AtomicIsize;
use loom::thread;

use super::*;

/// The world of a model with a given number of spares. The spares are started and at rest when the
/// model begins.
struct World {
    spares: Spares,
    /// The seats that are lent, as the threads count them after each of their steps.
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
        if taker != Taker::None {
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

    /// Call this when no thread is in the middle of a step.
    fn check(&self) {
        let surplus = self.spares.surplus.load(Acquire) as isize;
        assert_eq!(self.up() as isize - self.lent.load(Acquire), surplus);
    }
}

/// Two threads lend their seats and take them back, with a spare for each. Neither is refused,
/// although a spare rests in the meantime, between any two of its tasks.
#[test]
fn loom_a_slot_is_never_refused_while_a_spare_rests() {
    loom::model(|| {
        let world = World::new(2);
        let lender = |world: &Arc<World>| {
            let world = world.clone();
            move || {
                assert_ne!(world.lend(), Taker::None);
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
        // In the end all rest, if they check.
        (0..2).for_each(|seat| _ = world.spares.is_up(seat) && world.spares.rest(seat));
        world.check();
        assert_eq!(world.up(), 0);
    });
}

/// The threads lend as many seats as there are spares, and no more, in any order. A seat that is
/// taken back can be lent again.
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
        assert!(takers.contains(&Taker::Call(0)) && takers.contains(&Taker::None), "{takers:?}");
        world.check();
        world.take_back();
        assert_eq!(world.lend(), Taker::Running, "it is up");
        world.check();
    });
}
