//! Models of the open tables: threads find, make and grow at once. The first table has two words.

use loom::thread;

use super::*;
use crate::sync::atomic::AtomicU32;

/// The targets of the index's numbers: keys, and what their makers wrote before any other thread
/// knew the number.
struct World {
    index: Index,
    slots: Arenas<(u32, AtomicU32)>,
}

impl World {
    fn new() -> loom::sync::Arc<World> {
        loom::sync::Arc::new(World { index: Index::new(), slots: Arenas::new() })
    }

    /// The number of a key. All keys have the same home in every table, and pairs of them the same
    /// hash.
    fn find(&self, key: u32) -> u32 {
        let is = |number| self.slots.at(number).0 == key;
        let make = |()| {
            let slot = AtomicU32::new(0);
            slot.store(key, Ordering::Relaxed);
            self.slots.push((key, slot))
        };
        let number = self.index.find((key / 2) << 16, is, || (), make);
        // It reads a stale 0 if the number alone does not order this after the making.
        assert_eq!(self.slots.at(number).1.load(Ordering::Relaxed), key);
        number
    }

    fn len(&self) -> usize {
        self.slots.iter().count()
    }
}

fn run<R: 'static>(world: &loom::sync::Arc<World>, body: impl FnOnce(&World) -> R + 'static) -> thread::JoinHandle<R> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

/// If several threads want to make a key's number, one of them does (steps 2 and 3).
#[test]
fn loom_one_key() {
    loom::model(|| {
        let world = World::new();
        let others = [(); 2].map(|()| run(&world, |world| world.find(1)));
        let number = world.find(1);
        assert!(others.into_iter().all(|other| other.join().unwrap() == number));
        assert_eq!(world.len(), 1);
    });
}

/// Keys with one home: a thread finds each behind the others, in the old table or the larger one
/// (step 4).
#[test]
fn loom_keys_of_one_home() {
    loom::model(|| {
        let world = World::new();
        let others = [[2, 3, 4], [4, 3, 2]].map(|keys| run(&world, move |world| keys.map(|key| world.find(key))));
        let here = [3, 2].map(|key| world.find(key));
        let [there, back] = others.map(|other| other.join().unwrap());
        assert_eq!([there[1], there[0]], here);
        assert_eq!([there[2], there[1], there[0]], back);
        assert_eq!([2, 3, 4].map(|key| world.find(key)), there);
        assert_eq!(world.len(), 3);
    });
}

/// Two threads make keys, so that the table grows twice. A third one searches for them meanwhile,
/// perhaps in an old table.
#[test]
fn loom_looks_while_it_grows() {
    loom::model(|| {
        let world = World::new();
        let first = world.find(2);
        let makes = run(&world, |world| (world.find(3), world.find(4)));
        let looks = run(&world, |world| (world.find(2), world.find(4)));
        let (third, fourth) = makes.join().unwrap();
        assert_eq!(looks.join().unwrap(), (first, fourth));
        assert_eq!(world.find(3), third);
        assert_eq!((world.len(), world.index.newest().len()), (3, 8));
    });
}
