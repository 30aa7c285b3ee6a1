//! Models of a slot: threads put, wait and get at the same time.

use loom::thread;

use super::*;
use crate::sync::Arc;
use crate::sync::atomic::AtomicUsize;

/// Counts how often it was woken.
struct Flag(Arc<AtomicUsize>);

impl Waits for Flag {
    fn go(self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

struct World {
    slot: Slot<u32, Flag>,
    went: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World { slot: Slot::new(), went: Arc::default() })
    }

    /// Waits, unless the value was put. Returns whether it was.
    fn wait(&self) -> bool {
        let back = self.slot.wait(Flag(self.went.clone()));
        if back.is_some() {
            assert_eq!(self.slot.get(), Some(&7));
        }
        back.is_some()
    }

    fn went(&self) -> usize {
        self.went.load(Ordering::Acquire)
    }
}

fn run<R: 'static>(world: &Arc<World>, body: impl FnOnce(&World) -> R + 'static) -> thread::JoinHandle<R> {
    let world = world.clone();
    thread::spawn(move || body(&world))
}

/// Each waiter is woken once, or sees the value.
#[test]
fn loom_put_wait_and_get() {
    loom::model(|| {
        let world = World::new();
        let waits = [(); 2].map(|()| run(&world, World::wait));
        if let Some(value) = world.slot.get() {
            assert_eq!(*value, 7);
        }
        assert_eq!(world.slot.put(7), Ok(()));
        let saw = waits.into_iter().filter_map(|wait| wait.join().unwrap().then_some(())).count();
        assert_eq!(saw + world.went(), 2);
        assert_eq!(world.slot.get(), Some(&7));
    });
}

/// One of two puts is refused, and each waiter is woken once.
#[test]
fn loom_two_puts() {
    loom::model(|| {
        let world = World::new();
        let put = run(&world, |world| world.slot.put(7).is_ok());
        let wait = run(&world, World::wait);
        let here = world.slot.put(7).is_ok();
        assert!(here ^ put.join().unwrap());
        let saw = usize::from(wait.join().unwrap());
        assert_eq!(saw + world.went(), 1);
    });
}

/// Each waiter is woken once, by the release or by the put.
#[test]
fn loom_release() {
    loom::model(|| {
        let world = World::new();
        assert!(!world.wait());
        let put = run(&world, |world| world.slot.put(7).is_ok());
        let wait = run(&world, World::wait);
        world.slot.release();
        assert!(put.join().unwrap());
        let saw = usize::from(wait.join().unwrap());
        assert_eq!(saw + world.went(), 2);
    });
}

/// The remaining waiters are dropped with the slot.
#[test]
fn loom_dropped_with_the_slot() {
    loom::model(|| {
        let world = World::new();
        let wait = run(&world, World::wait);
        assert!(!world.wait());
        assert!(!wait.join().unwrap());
        let Ok(World { mut slot, went }) = Arc::try_unwrap(world) else { panic!("no other thread has it") };
        assert_eq!(Arc::strong_count(&went), 3);
        assert_eq!(slot.end(), None);
        assert_eq!(Arc::strong_count(&went), 1);
    });
}
