//! Models of an item whose slot does not exist yet. The first of `put`, `get` and `wait_on` makes
//! it ([FP](crate#sources) §V), and no waiter is lost. Each asks the table for the slot, and then
//! the slot itself. Other models cover `millpond::item`, which fills a slot once and wakes all
//! waiters. A lock replaces it here.

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::*;

/// A value, put once, and its waiters.
struct Slot(Mutex<(Option<u32>, Vec<Arc<AtomicUsize>>)>);

impl Default for Slot {
    fn default() -> Self {
        Slot(Mutex::new((None, Vec::new())))
    }
}

struct World {
    store: Store<u32, Slot>,
    woken: Arc<AtomicUsize>,
}

impl World {
    fn new(table: Table) -> Arc<World> {
        Arc::new(World { store: Store::hashed(table), woken: Arc::new(AtomicUsize::new(0)) })
    }

    fn slot(&self) -> &Slot {
        let (place, slot) = self.store.find(&7).expect("hashed keys have no bounds");
        assert_eq!(self.store.key(place), 7);
        slot
    }

    /// Whether the value was refused.
    fn put(&self, value: u32) -> bool {
        let mut slot = self.slot().0.lock().unwrap();
        if slot.0.is_some() {
            return true;
        }
        slot.0 = Some(value);
        slot.1.drain(..).for_each(|waits| _ = waits.fetch_add(1, Ordering::Release));
        false
    }

    /// The value. If there is none, registers the caller as a waiter.
    fn get(&self) -> Option<u32> {
        let mut slot = self.slot().0.lock().unwrap();
        if slot.0.is_none() {
            slot.1.push(self.woken.clone());
        }
        slot.0
    }

    /// One slot has the value, and no slot has a waiter.
    fn check(&self, value: u32) {
        let slots = || self.store.slots().map(|slot| slot.0.lock().unwrap());
        assert_eq!(slots().filter_map(|slot| slot.0).collect::<Vec<_>>(), [value]);
        assert!(slots().all(|slot| slot.1.is_empty()));
    }
}

fn run<R: 'static>(world: &Arc<World>, body: impl FnOnce(&World) -> R + 'static) -> thread::JoinHandle<R> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

/// `wait_on` first checks for the item, because it counts a wait only if the item is missing. It
/// then asks for the slot again.
fn wait_on(world: &World) -> Option<u32> {
    let there = world.slot().0.lock().unwrap().0;
    there.or_else(|| world.get())
}

fn first_come_first_served(table: Table) {
    loom::model(move || {
        let world = World::new(table);
        let waits = [run(&world, World::get), run(&world, wait_on)];
        assert!(!world.put(42));
        let saw = waits.into_iter().filter_map(|wait| wait.join().unwrap());
        let saw = saw.inspect(|&value| assert_eq!(value, 42)).count();
        assert_eq!(saw + world.woken.load(Ordering::Acquire), 2);
        world.check(42);
    });
}

#[test]
fn loom_put_get_and_wait_on_open() {
    first_come_first_served(Table::Open);
}

#[test]
fn loom_put_get_and_wait_on_sharded() {
    first_come_first_served(Table::Sharded);
}

#[test]
fn loom_put_get_and_wait_on_split_ordered() {
    first_come_first_served(Table::SplitOrdered);
}

fn two_puts(table: Table) {
    loom::model(move || {
        let world = World::new(table);
        let other = run(&world, |world| world.put(1));
        let get = run(&world, World::get);
        let refused = [world.put(2), other.join().unwrap()];
        assert!(refused[0] ^ refused[1]);
        let value = if refused[0] { 1 } else { 2 };
        match get.join().unwrap() {
            Some(got) => assert_eq!((got, world.woken.load(Ordering::Acquire)), (value, 0)),
            None => assert_eq!(world.woken.load(Ordering::Acquire), 1),
        }
        world.check(value);
    });
}

/// One of two puts is refused, whichever makes the slot.
#[test]
fn loom_two_puts_open() {
    two_puts(Table::Open);
}

#[test]
fn loom_two_puts_sharded() {
    two_puts(Table::Sharded);
}

#[test]
fn loom_two_puts_split_ordered() {
    two_puts(Table::SplitOrdered);
}
