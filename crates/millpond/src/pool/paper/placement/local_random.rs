//! Two queues for each worker (TP §3.5, "randomized local pools"). A worker draws one of its
//! queues. If another worker holds the lock of that queue, it takes the other one. A worker whose
//! queues are empty steals from both queues of the others.

use crossbeam_utils::CachePadded;

use super::super::params::Share;
use super::super::queue::{List, Queue};
use super::super::settings::Settings;
use super::super::shared::{Locked, Shared, push};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::pool::random::{Draw, XorShift};
use crate::task::TaskRef;

/// See the [module](self).
pub struct LocalRandom {
    pools: Box<[[CachePadded<Locked<List>>; 2]]>,
    share: Share,
}

/// The part of the pool that belongs to one worker.
pub struct Local {
    number: usize,
    draw: XorShift,
    /// The queue that got the last put.
    last: usize,
    /// Stolen tasks after the first, on the way to this worker's queues.
    stolen_tasks: Vec<TaskRef>,
}

// SAFETY: the tasks move with the local state.
unsafe impl Send for Local {}

impl LocalRandom {
    /// Takes a task from one of a worker's queues. If the drawn queue is empty, takes from the
    /// other one. If another worker holds the lock of the drawn queue, tries the other one first,
    /// and then waits for the drawn one.
    fn take_from(&self, pool: usize, drawn: usize) -> Option<TaskRef> {
        let [first, second] = [&self.pools[pool][drawn], &self.pools[pool][1 - drawn]];
        match first.try_with(Queue::pop) {
            Some(Some(task)) => Some(task),
            Some(None) => second.take(),
            None => second.try_with(Queue::pop).flatten().or_else(|| first.take()),
        }
    }
}

impl Placement for LocalRandom {
    const PARAMS: &'static [&'static str] = &["share", "lock"];
    type Local = Local;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Local>) {
        let queue = |_| CachePadded::new(Locked::new(settings));
        let pools = (0..seats).map(|_| [(), ()].map(queue)).collect();
        let local = |number| Local { number, draw: XorShift::new(number), last: 0, stolen_tasks: Vec::new() };
        (LocalRandom { pools, share: settings.params.share }, (0..seats).map(local).collect())
    }

    fn put(&self, local: &mut Local, task: TaskRef) -> Found {
        let queues = &self.pools[local.number];
        let drawn = local.draw.below(2);
        let put = |at: usize| queues[at].try_with(|queue| (at, push(queue, task)));
        let put = put(drawn).or_else(|| put(1 - drawn));
        let (at, was_empty) = put.unwrap_or_else(|| (drawn, queues[drawn].put(task)));
        local.last = at;
        Found::of_put(was_empty)
    }

    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        self.take_from(local.number, local.draw.below(2))
    }

    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.pools[local.number][local.last].take_if(wanted)
    }

    fn steal(&self, local: &mut Local) -> Option<TaskRef> {
        let workers = self.pools.len();
        let drawn = local.draw.below(2);
        let others = (local.number + 1..workers).chain(0..local.number).flat_map(|pool| {
            let queues = &self.pools[pool];
            [&queues[drawn], &queues[1 - drawn]]
        });
        let more = |len| self.share.more(len, workers);
        let stolen =
            others.filter(|queue| !queue.looks_empty()).find_map(|queue| queue.steal(more, &mut local.stolen_tasks))?;
        while let Some(task) = local.stolen_tasks.pop() {
            self.put(local, task);
        }
        Some(stolen)
    }

    fn leave(&self, _local: &mut Local, _leave: Leave) -> bool {
        false
    }

    fn has_work(&self) -> bool {
        self.pools.iter().flatten().any(|queue| !queue.looks_empty())
    }
}
