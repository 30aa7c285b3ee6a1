//! Models of joins against the completion of their task. The end of a waiter writes to a cell that
//! its waker writes too, so that loom finds a late waker.

use std::panic::Location;

use loom::thread;

use super::*;
use crate::handle::claim::Claimant;
use crate::sync::Arc;
use crate::task::VTable;
use crate::worker::cancel::Cancels;
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::wait::Mailbox;

struct Nothing;

impl Release for Nothing {
    fn free(&self, _task: TaskRef) {}
}

struct World {
    mailbox: Mailbox,
    sleep: Arc<Sleep>,
    scope_state: ScopeState,
    header: Header,
    _cancels: Box<Cancels>,
}

// SAFETY: the completer touches only what the protocol allows.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new() -> Arc<World> {
        let (sleep, cancels) = (Arc::new(Sleep::new(1, Idle::Sleep)), Box::new(Cancels::new()));
        let scope_state = ScopeState::root(&cancels, &Claimant::enter(true), 0, 0);
        let header = Header::on_stack(&VTable::OF_POOLS, NonNull::from(&scope_state).into(), Location::caller());
        let mailbox = Mailbox::new(0, sleep.clone());
        Arc::new(World { mailbox, sleep, scope_state, header, _cancels: cancels })
    }

    fn pending(&self) -> Pending<(), Nothing> {
        let (task, scope_state) = (NonNull::from(&self.header), NonNull::from(&self.scope_state));
        let usage = self.header.state().usage();
        let (watching, release) = (Cell::new(None), Nothing);
        Pending { task, usage, order: 0, scope_state, counted: false, result: None, watching, record: 0, release }
    }

    /// Completes the task like a worker.
    fn complete(&self) {
        let usage = self.header.state().usage();
        if self.header.state().complete().watched {
            self.scope_state.watchers().tell((NonNull::from(&self.header), usage));
        }
    }

    /// Waits like `Pending::wait`, on a worker that finds nothing else to do.
    fn wait(&self, pending: &Pending<(), Nothing>) {
        let waiter = Waiter::new(&self.mailbox);
        if pending.unwatch() && pending.watch(Tell::Waiter((&waiter).into())) && waiter.park() {
            while !waiter.is_delivered() {
                self.mailbox.take_mail(Waiter::deliver);
                if !waiter.is_delivered() {
                    self.sleep.wait(0, &|| self.mailbox.has_mail());
                }
            }
        }
        assert!(pending.is_done());
        waiter.end();
    }
}

fn completes(world: &Arc<World>) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || world.complete())
}

#[test]
fn loom_a_join_waits() {
    loom::model(|| {
        let world = World::new();
        let completer = completes(&world);
        world.wait(&world.pending());
        completer.join().unwrap();
    });
}

/// A join is polled, so that its task is watched, and then waited for.
#[test]
fn loom_a_join_is_polled_then_waited_for() {
    loom::model(|| {
        let world = World::new();
        let completer = completes(&world);
        let pending = world.pending();
        if !pending.is_done() {
            let _told_or_done = pending.wake_when_done(Waker::noop());
        }
        world.wait(&pending);
        completer.join().unwrap();
    });
}

/// Counts the wakes.
#[derive(Default)]
struct Bell(std::sync::atomic::AtomicU32);

impl std::task::Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Polls once with each of the wakers. They are notified of the completion.
fn polls(wakers: &'static [usize], told: impl Fn(Option<usize>, [u32; 2]) + Send + Sync + 'static) {
    loom::model(move || {
        let world = World::new();
        let completer = completes(&world);
        let pending = world.pending();
        let bells = [(); 2].map(|()| std::sync::Arc::new(Bell::default()));
        let mut last = None;
        for &of in wakers {
            if pending.is_done() || !pending.wake_when_done(&bells[of].clone().into()) {
                last = None;
                break;
            }
            last = Some(of);
        }
        completer.join().unwrap();
        assert!(pending.is_done());
        told(last, bells.map(|bell| bell.0.load(std::sync::atomic::Ordering::SeqCst)));
    });
}

/// The last poll's waker is woken, or that poll sees that the task is complete. No waker is woken
/// twice.
#[test]
fn loom_a_join_is_polled_twice() {
    polls(&[0, 1], |last, told| {
        assert!(last != Some(1) || told == [0, 1], "{last:?} {told:?}");
        assert!(told[0] + told[1] <= 1, "one watcher");
    });
}

/// A poll with the same waker adds no watcher and loses none.
#[test]
fn loom_a_join_is_polled_twice_with_one_waker() {
    polls(&[0, 0], |last, told| assert!(told[0] <= 1 && (last.is_none() || told[0] == 1), "{last:?} {told:?}"));
}

/// Alternates, like a future that moves between tasks.
#[test]
fn loom_a_join_is_polled_in_turn() {
    polls(&[0, 1, 0], |last, told| {
        assert!(last.is_none_or(|last| told[last] == 1), "{last:?} {told:?}");
        assert!(told[0] + told[1] <= 1, "one watcher");
    });
}
