//! Models of a thief that reads a stack while its owner is in the middle of a step (`seen`): the
//! owner opens a frame and closes it. The owner lock would prevent a second such step. The models
//! omit it. A closure is only a place here.

use loom::thread;

use super::*;
use crate::handle::claim::Claimant;
use crate::sync::Arc;
use crate::worker::cancel::Cancels;

struct World {
    frames: Frames,
    scope_state: ScopeState,
    _cancels: Box<Cancels>,
}

// SAFETY: the models check that the threads use it in order.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

const STRIDE: usize = 128;

impl World {
    /// A scope's stack in which a parent is about to run.
    fn new() -> Arc<World> {
        let cancels = Box::new(Cancels::new());
        let scope_state = ScopeState::root(&cancels, &Claimant::enter(true), 0, 0);
        let world = World { frames: Frames::new(), scope_state, _cancels: cancels };
        world.frames.enter();
        world.frames.open(&world.scope_state);
        world.push();
        world.frames.take(world.frames.cursor().0);
        Arc::new(world)
    }

    /// The same stack, in which the parent's body has begun.
    fn in_body() -> Arc<World> {
        let world = World::new();
        world.frames.open(&world.scope_state);
        world
    }

    fn push(&self) {
        self.frames.publish(self.frames.top().wrapping_add(STRIDE));
    }

    /// Opens a frame, runs a closure there, and closes it.
    fn run(&self) {
        self.frames.open(&self.scope_state);
        let at = self.frames.top();
        self.push();
        self.frames.take(at);
        self.frames.set_cursor(self.frames.top());
        self.frames.close();
    }

    /// Checks that the snapshot is of one frame or of the other.
    fn look(&self, parent: *mut u8) {
        let Seen { youngest, next, taken, top } = self.frames.seen();
        // SAFETY: the owner frees no memory.
        let frame = unsafe { &*youngest };
        let end = frame.first.wrapping_add(STRIDE);
        assert!(frame.first <= next && next <= top && top <= end, "the places of one frame");
        if frame.before.is_null() {
            assert!(next == parent && taken && top == end, "the parent runs");
        } else {
            let (running, last) = (frame.before, parent.wrapping_add(STRIDE));
            // SAFETY: as above.
            let before = unsafe { &*running };
            assert_eq!(before.running.load(Ordering::Relaxed).addr(), parent.addr() | TAKEN);
            assert_eq!(before.last.load(Ordering::Relaxed), last);
        }
    }
}

fn model(own: fn(&World)) {
    model_with(own, |world, parent| world.look(world.frames.top().with_addr(parent)));
}

fn model_with(own: fn(&World), look: fn(&World, usize)) {
    model_of(World::new, own, look);
}

fn model_of(make: fn() -> Arc<World>, own: fn(&World), look: fn(&World, usize)) {
    loom::model(move || {
        let world = make();
        let parent = world.frames.cursor().0.addr();
        let thief = thread::spawn({
            let world = world.clone();
            move || look(&world, parent)
        });
        own(&world);
        thief.join().unwrap();
        while !world.frames.youngest.load(Ordering::Relaxed).is_null() {
            world.frames.close();
        }
    });
}

#[test]
fn loom_a_frame_is_opened() {
    model(|world| {
        world.frames.open(&world.scope_state);
        world.push();
    });
}

/// A body that spawns nothing.
#[test]
fn loom_a_frame_is_opened_and_closed() {
    model(|world| {
        world.frames.open(&world.scope_state);
        world.frames.close();
    });
}

/// The same with a closure.
#[test]
fn loom_a_frame_is_run() {
    model(World::run);
}

/// A thief that peeks meanwhile does not find the stack empty.
#[test]
fn loom_a_stack_stays_full() {
    model_with(World::run, |world, _| assert!(world.frames.may_have_work()));
}

/// A called body gets its frame (`inline_subtree`, S1 and S2). No thief sees a closure that runs as
/// the one that comes next.
#[test]
fn loom_a_called_body_gets_its_frame() {
    let promote = |world: &World| {
        world.frames.announce(world.frames.top(), STRIDE);
        world.frames.open(&world.scope_state);
    };
    let look = |world: &World, _| {
        let Seen { youngest, next, taken, top } = world.frames.seen();
        // SAFETY: the owner frees no memory.
        let mut frame = unsafe { &*youngest };
        let end = |frame: &Frame| frame.first.wrapping_add(STRIDE);
        assert!(next == top || taken && next == frame.first && top == end(frame), "what is there runs");
        // SAFETY: as above.
        while let Some(before) = unsafe { frame.before.as_ref() } {
            assert_eq!(before.running.load(Ordering::Relaxed).addr(), before.first.addr() | TAKEN);
            assert_eq!(before.last.load(Ordering::Relaxed), end(before));
            frame = before;
        }
    };
    model_of(World::in_body, promote, look);
}
