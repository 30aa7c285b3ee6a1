//! Models of a poll and its alarm. When the future has ended, the task is freed.

use std::panic::Location;
use std::pin::pin;
use std::ptr::NonNull;

use loom::thread;

use super::*;
use crate::sync::Guarded;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::task::ScopePtr;
use crate::task::{Header, VTable};

/// A task; its header comes first.
#[repr(C)]
struct Model {
    header: Header,
    let_in: AtomicUsize,
    abandoned: AtomicUsize,
    /// Written when the task is freed.
    there: Guarded<bool>,
}

// SAFETY: the models check whether accesses to the cell are ordered.
unsafe impl Sync for Model {}
// SAFETY: as above.
unsafe impl Send for Model {}

struct Rung(TaskRef);

impl Rung {
    fn model(&self) -> &Model {
        // SAFETY: the tasks here are models. Each thread that may have one is joined before they
        // are dropped.
        unsafe { self.0.0.cast().as_ref() }
    }

    fn meet(&self) {
        assert!(self.model().there.get());
        if self.model().header.meet() {
            self.model().let_in.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Rings for Rung {
    fn of(task: TaskRef) -> Self {
        Rung(task)
    }

    fn ring(self) {
        mem::ManuallyDrop::new(self).meet();
    }
}

impl Drop for Rung {
    fn drop(&mut self) {
        self.model().abandoned.fetch_add(1, Ordering::AcqRel);
        self.meet();
    }
}

impl Model {
    fn new() -> Self {
        Model {
            header: Header::on_stack(&VTable::OF_POOLS, ScopePtr::DANGLING, Location::caller()),
            let_in: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
            there: Guarded::new(true),
        }
    }

    /// Polls a future that gives its waker to `threads` threads. Each thread wakes or drops it. The
    /// caller joins them last.
    fn run(&self, threads: usize, wakes: bool, ready: bool) -> (bool, Vec<thread::JoinHandle<()>>) {
        let (mut woken, mut started) = (false, Vec::new());
        let poll = std::future::poll_fn(|context| {
            for _ in 0..threads {
                let waker = context.waker().clone();
                started.push(thread::spawn(move || if wakes { waker.wake() } else { drop(waker) }));
            }
            if ready { Poll::Ready(()) } else { Poll::Pending }
        });
        let task = TaskRef(NonNull::from(self).cast());
        let (polled, alarm) = Turn::<Rung>::poll(task, pin!(poll));
        assert!(alarm && polled.is_ready() == ready);
        if ready {
            assert_eq!(self.let_in.load(Ordering::Acquire), 0);
            self.there.set(false);
        } else {
            woken = self.header.meet();
        }
        (woken, started)
    }
}

fn model(threads: usize, wakes: bool, ready: bool) {
    loom::model(move || {
        let model = Box::new(Model::new());
        let (woken, started) = model.run(threads, wakes, ready);
        started.into_iter().for_each(|thread| thread.join().unwrap());
        let let_in = model.let_in.load(Ordering::Acquire) + usize::from(woken);
        assert_eq!(let_in, usize::from(!ready));
        assert_eq!(model.abandoned.load(Ordering::Acquire), usize::from(!wakes && !ready));
    });
}

/// Two threads wake the future at once. It is let in once: by one of them, or by the poller.
#[test]
fn loom_woken_while_it_is_put_aside() {
    model(2, true, false);
}

/// Threads still wake an ended future. They do not touch its task after it is freed.
#[test]
fn loom_woken_when_it_has_ended() {
    model(2, true, true);
}

/// All wakers are dropped: the task is let in and marked as abandoned.
#[test]
fn loom_abandoned() {
    model(2, false, false);
}
