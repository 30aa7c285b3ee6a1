//! A queue for each worker. A worker whose queue is empty steals from the others' (TP §3.5).

use crossbeam_utils::CachePadded;

use super::super::params::Share;
use super::super::settings::Settings;
use super::super::shared::Shared;
use super::{Found, Placement};
use crate::pool::Leave;
use crate::task::TaskRef;

/// See the [module](self).
pub struct Stealing<S> {
    queues: Box<[CachePadded<S>]>,
    share: Share,
}

/// The part of the pool that belongs to one worker.
pub struct Local {
    number: usize,
    /// Stolen tasks after the first, on the way to this worker's queue.
    stolen_tasks: Vec<TaskRef>,
}

// SAFETY: the tasks move with the local state.
unsafe impl Send for Local {}

#[cfg(all(test, not(loom)))]
impl<Q: super::super::queue::Queue, E> Stealing<super::super::shared::Locked<Q, E>> {
    /// See [`Queue::places`](super::super::queue::Queue::places).
    pub(crate) fn places(&self, seat: usize) -> Vec<usize> {
        self.queues[seat].places()
    }
}

impl<S: Shared> Placement for Stealing<S> {
    const PARAMS: &'static [&'static str] =
        if S::HAS_CAPACITY { &["share", "lock", "capacity"] } else { &["share", "lock"] };
    type Local = Local;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Local>) {
        let queues = (0..seats).map(|_| CachePadded::new(S::new(settings))).collect();
        let local = |number| Local { number, stolen_tasks: Vec::new() };
        (Stealing { queues, share: settings.params.share }, (0..seats).map(local).collect())
    }

    #[inline]
    fn put(&self, local: &mut Local, task: TaskRef) -> Found {
        Found::of_put(self.queues[local.number].put(task))
    }

    #[inline]
    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        self.queues[local.number].take()
    }

    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.queues[local.number].take_if(wanted)
    }

    /// Searches the other workers' queues in turn, starting with the next worker's.
    fn steal(&self, local: &mut Local) -> Option<TaskRef> {
        let workers = self.queues.len();
        let others = (local.number + 1..workers).chain(0..local.number).map(|number| &self.queues[number]);
        let more = |len| self.share.more(len, workers);
        let stolen =
            others.filter(|queue| !queue.looks_empty()).find_map(|queue| queue.steal(more, &mut local.stolen_tasks))?;
        // In reverse: the task stolen last is put first. After a theft from the working end, this
        // keeps the victim's order.
        local.stolen_tasks.drain(..).rev().for_each(|task| _ = self.queues[local.number].put(task));
        Some(stolen)
    }

    fn leave(&self, _local: &mut Local, _leave: Leave) -> bool {
        false
    }

    fn has_work(&self) -> bool {
        self.queues.iter().any(|queue| !queue.looks_empty())
    }
}
