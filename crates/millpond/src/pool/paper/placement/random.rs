//! Several queues for each worker, which all workers share (TP §3.2). A task goes into a randomly
//! drawn queue. A worker that needs a task searches all queues in a random order until it finds
//! one.

use crossbeam_utils::CachePadded;

use super::super::settings::Settings;
use super::super::shared::Shared;
use super::{Found, Placement};
use crate::pool::Leave;
use crate::pool::random::Draw;
use crate::task::TaskRef;

/// See the [module](self).
pub struct Random<S, D> {
    queues: Box<[CachePadded<S>]>,
    draw: std::marker::PhantomData<fn() -> D>,
}

/// The part of the pool that belongs to one worker.
pub struct Local<D> {
    draw: D,
    /// All queues, shuffled as far as the worker searches.
    order: Box<[usize]>,
    /// The queue that got the last put.
    last: usize,
}

impl<S: Shared, D: Draw> Placement for Random<S, D> {
    const PARAMS: &'static [&'static str] = &["queues", "lock"];
    type Local = Local<D>;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Local<D>>) {
        let number = seats * settings.params.queues.max(1);
        let queues = (0..number).map(|_| CachePadded::new(S::new(settings))).collect();
        let local = |seat| Local { draw: D::new(seat), order: (0..number).collect(), last: 0 };
        (Random { queues, draw: std::marker::PhantomData }, (0..seats).map(local).collect())
    }

    #[inline]
    fn put(&self, local: &mut Local<D>, task: TaskRef) -> Found {
        local.last = local.draw.below(self.queues.len());
        Found::of_put(self.queues[local.last].put(task))
    }

    #[inline]
    fn take(&self, local: &mut Local<D>) -> Option<TaskRef> {
        let number = self.queues.len();
        for looked in 0..number {
            let drawn = looked + local.draw.below(number - looked);
            local.order.swap(looked, drawn);
            let queue = &self.queues[local.order[looked]];
            if !queue.looks_empty()
                && let Some(task) = queue.take()
            {
                return Some(task);
            }
        }
        None
    }

    fn take_if(&self, local: &mut Local<D>, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.queues[local.last].take_if(wanted)
    }

    fn steal(&self, _local: &mut Local<D>) -> Option<TaskRef> {
        None
    }

    fn leave(&self, _local: &mut Local<D>, _leave: Leave) -> bool {
        false
    }

    fn has_work(&self) -> bool {
        self.queues.iter().any(|queue| !queue.looks_empty())
    }
}
