//! A queue for each worker, from which others take when their own is empty (TP §3.5).

use crossbeam_utils::CachePadded;

use super::super::params::{Params, Share};
use super::super::shared::Shared;
use super::{Found, Placement};
use crate::pool::Leave;
use crate::task::TaskRef;

/// See the [module](self).
pub struct Stealing<S> {
    queues: Box<[CachePadded<S>]>,
    share: Share,
}

/// What one worker keeps for itself.
pub struct Seat {
    number: usize,
    /// What was stolen beside the first task, on the way to the own queue.
    stolen_tasks: Vec<TaskRef>,
}

// SAFETY: tasks are handed over with it.
unsafe impl Send for Seat {}

impl<S: Shared> Placement for Stealing<S> {
    const PARAMS: &'static [&'static str] = &["share", "lock"];
    type Seat = Seat;

    fn new(seats: usize, params: &Params) -> (Self, Vec<Seat>) {
        let queues = (0..seats).map(|_| CachePadded::new(S::new(params.lock))).collect();
        let seat = |number| Seat { number, stolen_tasks: Vec::new() };
        (Stealing { queues, share: params.share }, (0..seats).map(seat).collect())
    }

    #[inline]
    fn put(&self, seat: &mut Seat, task: TaskRef) -> Found {
        Found::of_put(self.queues[seat.number].put(task))
    }

    #[inline]
    fn take(&self, seat: &mut Seat) -> Option<TaskRef> {
        self.queues[seat.number].take()
    }

    fn take_if(&self, seat: &mut Seat, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.queues[seat.number].take_if(wanted)
    }

    /// Looks at the others' queues in turn, from the neighbour's on.
    fn steal(&self, seat: &mut Seat) -> Option<TaskRef> {
        let workers = self.queues.len();
        let others = (seat.number + 1..workers).chain(0..seat.number).map(|number| &self.queues[number]);
        let more = |len| self.share.more(len, workers);
        let stolen =
            others.filter(|queue| !queue.looks_empty()).find_map(|queue| queue.steal(more, &mut seat.stolen_tasks))?;
        // Oldest first, as its owner would have come to them last.
        seat.stolen_tasks.drain(..).rev().for_each(|task| _ = self.queues[seat.number].put(task));
        Some(stolen)
    }

    fn leave(&self, _seat: &mut Seat, _leave: Leave) -> bool {
        false
    }

    fn has_work(&self) -> bool {
        self.queues.iter().any(|queue| !queue.looks_empty())
    }
}
