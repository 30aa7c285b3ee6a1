//! A queue for each worker, which no other worker reads, and one central queue (TP §3.4, `sdq1`).
//! Tasks beyond a threshold go to the central queue, in blocks of four. Only the central queue has
//! a lock.

use super::super::lock::Guarded;
use super::super::settings::Settings;
use super::fours::{FOUR, Fours, Spare};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

/// See the [module](self).
pub struct OwnAndCentral {
    central: Guarded<Fours>,
    /// The number of blocks, written under the lock.
    len: AtomicUsize,
    threshold: usize,
}

/// The part of the pool that belongs to one worker.
pub struct Local {
    /// An array. The threshold is its size.
    tasks: Vec<TaskRef>,
    spare: Spare,
}

// SAFETY: the tasks move with the local state.
unsafe impl Send for Local {}

impl OwnAndCentral {
    fn with<R>(&self, f: impl FnOnce(&mut Fours) -> R) -> R {
        self.central.with(|blocks| {
            let result = f(blocks);
            self.len.store(blocks.len(), Relaxed);
            result
        })
    }

    /// Moves up to four of the oldest tasks to the central queue.
    #[cold]
    fn give(&self, local: &mut Local) -> Found {
        let mut block = local.spare.take();
        let most = local.tasks.len().min(FOUR);
        local.tasks.drain(..most).for_each(|task| block.push(task));
        let was_empty = self.with(|blocks| {
            blocks.push(block);
            blocks.len() == 1
        });
        Found::of_put(was_empty)
    }

    fn looks_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

impl Placement for OwnAndCentral {
    const PARAMS: &'static [&'static str] = &["threshold", "lock"];
    type Local = Local;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Local>) {
        let threshold = settings.params.threshold.max(FOUR);
        let central = Guarded::new(settings.params.lock, Fours::default());
        let local = |_| Local { tasks: Vec::with_capacity(threshold), spare: Spare::default() };
        (OwnAndCentral { central, len: AtomicUsize::new(0), threshold }, (0..seats).map(local).collect())
    }

    #[inline]
    fn put(&self, local: &mut Local, task: TaskRef) -> Found {
        let found = if local.tasks.len() == self.threshold { self.give(local) } else { Found::Nothing };
        local.tasks.push(task);
        found
    }

    #[inline]
    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        if let Some(task) = local.tasks.pop() {
            return Some(task);
        }
        if self.looks_empty() {
            return None;
        }
        let mut block = self.with(Fours::pop)?;
        while let Some(task) = block.pop() {
            local.tasks.push(task);
        }
        // In the order in which they were put: the newest last.
        local.tasks.reverse();
        local.spare.keep(block);
        local.tasks.pop()
    }

    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if let Some(&newest) = local.tasks.last() {
            return if wanted(newest) { local.tasks.pop() } else { None };
        }
        self.with(|blocks| blocks.pop_task_if(wanted))
    }

    fn steal(&self, _local: &mut Local) -> Option<TaskRef> {
        None
    }

    fn leave(&self, local: &mut Local, _leave: Leave) -> bool {
        let some = !local.tasks.is_empty();
        while !local.tasks.is_empty() {
            self.give(local);
        }
        some
    }

    fn has_work(&self) -> bool {
        !self.looks_empty()
    }
}
