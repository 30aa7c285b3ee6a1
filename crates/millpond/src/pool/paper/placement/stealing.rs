//! A queue for each worker. A worker whose queue is empty steals from the others' (TP §3.5).

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

/// The part of the pool that belongs to one worker.
pub struct Seat {
    number: usize,
    /// Stolen tasks after the first, on the way to this worker's queue.
    stolen_tasks: Vec<TaskRef>,
}

// SAFETY: the tasks move with the seat.
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

    /// Searches the other workers' queues in turn, starting with the next worker's.
    fn steal(&self, seat: &mut Seat) -> Option<TaskRef> {
        let workers = self.queues.len();
        let others = (seat.number + 1..workers).chain(0..seat.number).map(|number| &self.queues[number]);
        let more = |len| self.share.more(len, workers);
        let stolen =
            others.filter(|queue| !queue.looks_empty()).find_map(|queue| queue.steal(more, &mut seat.stolen_tasks))?;
        // In reverse: the task stolen last is put first. After a theft from the working end, this
        // keeps the victim's order.
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
