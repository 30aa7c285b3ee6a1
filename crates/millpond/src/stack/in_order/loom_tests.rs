//! Models of a handle that is dropped on another thread, while the version's frame and the scope
//! end (protocol 1 to 3). The version is freed once, and no thread uses it afterwards.

use loom::thread;

use super::*;
use crate::handle::Version;
use crate::handle::claim::Claimant;
use crate::handle::version::VersionKind;
use crate::sync::{Arc, Guarded};
use crate::worker::cancel::Cancels;
use crate::worker::scope_state::ScopeState;

/// The value of the version. Its drop is a write that loom sees.
struct Value(*const World);

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: the model keeps the world alive.
        unsafe { &*self.0 }.change();
    }
}

struct World {
    frames: Frames,
    scope_state: ScopeState,
    _cancels: Box<Cancels>,
    version: Cell<Option<NonNull<Version>>>,
    /// The number of times that the value was changed or dropped.
    changes: Guarded<u32>,
}

// SAFETY: the models check whether the cells are used in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

fn free(version: NonNull<Version>) {
    // SAFETY: loom checks that no thread uses it.
    assert!(unsafe { Version::free(version) }.is_ok());
}

impl World {
    /// Makes a scope with a version that its stack uses.
    fn new() -> Arc<World> {
        let cancels = Box::new(Cancels::new());
        let scope_state = ScopeState::root(&cancels, &Claimant::enter(true), 0, 0);
        let (version, changes) = (Cell::new(None), Guarded::new(0));
        let world = Arc::new(World { frames: Frames::new(), scope_state, _cancels: cancels, version, changes });
        world.frames.enter();
        world.frames.open(&world.scope_state);
        world.put_version();
        world.frames.note(world.noted());
        world
    }

    fn put_version(&self) {
        let version = (VersionKind::of::<Value>().rename)(None);
        // SAFETY: it is the first field. Under loom, zeros are not a valid value.
        unsafe { version.cast::<Noted>().write(Noted::default()) };
        // SAFETY: it was just made.
        let this = unsafe { version.as_ref() };
        // SAFETY: the storage has room for the value.
        unsafe { this.value().cast::<Value>().write(Value(self)) };
        this.set_full(true);
        self.version.set(Some(version));
    }

    fn noted(&self) -> &Noted {
        // SAFETY: a caller uses the version before it is freed.
        unsafe { self.version.get().unwrap().as_ref() }.meta().of::<InOrder>()
    }

    fn change(&self) {
        self.changes.set(self.changes.get() + 1);
    }

    /// Drops the handle.
    fn drop_handle(&self) {
        // SAFETY: no access is issued any more.
        if unsafe { InOrder::retire(self.noted()) } {
            free(self.version.get().unwrap());
        }
    }

    /// Runs the last task, and closes the scope's stack.
    fn end(&self) {
        self.change();
        self.frames.end_uses();
        self.frames.free_orphans();
        self.frames.close();
    }
}

fn model(own: fn(&World)) {
    loom::model(move || {
        let world = World::new();
        let other = thread::spawn({
            let world = world.clone();
            move || world.drop_handle()
        });
        own(&world);
        other.join().unwrap();
        assert_eq!(world.changes.get(), 2);
    });
}

/// The handle is dropped on a thread that is not the owner.
#[test]
fn loom_a_handle_is_dropped_elsewhere() {
    model(World::end);
}

/// The owner leaves the stack, and it is entered again.
#[test]
fn loom_a_handle_is_dropped_while_a_stack_is_left() {
    model(|world| {
        world.frames.leave();
        world.frames.enter();
        world.end();
    });
}
