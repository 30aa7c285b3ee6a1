//! A queue for each worker, which no other worker reads (TP §3.3). There is no lock, and no
//! balance.
//!
//! A worker runs the tasks that it puts. It leaves its tasks to all workers in only two cases.
//! Either it gives up its seat, or it may be kept from its queue until others have run the tasks
//! there. So every program ends, even if a thread spawns tasks and runs none.

use super::super::queue::{List, Queue};
use super::super::settings::Settings;
use super::super::shared::{Locked, Shared};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::task::TaskRef;

/// See the [module](self).
pub struct OwnQueues<Q> {
    /// Tasks that were left to all workers.
    left: Locked<List>,
    queue: std::marker::PhantomData<fn() -> Q>,
}

impl<Q: Queue + 'static> Placement for OwnQueues<Q> {
    const PARAMS: &'static [&'static str] = if Q::HAS_CAPACITY { &["lock", "capacity"] } else { &["lock"] };
    type Local = Q;

    const BALANCES: bool = false;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Q>) {
        let pool = OwnQueues { left: Locked::new(settings), queue: std::marker::PhantomData };
        (pool, (0..seats).map(|_| Q::new(settings)).collect())
    }

    #[inline]
    fn put(&self, local: &mut Q, task: TaskRef) -> Found {
        local.push(task);
        Found::Nothing
    }

    #[inline]
    fn take(&self, local: &mut Q) -> Option<TaskRef> {
        local.pop()
    }

    fn take_if(&self, local: &mut Q, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if local.newest().is_some_and(wanted) { local.pop() } else { None }
    }

    fn steal(&self, _local: &mut Q) -> Option<TaskRef> {
        if self.left.looks_empty() { None } else { self.left.take() }
    }

    fn leave(&self, local: &mut Q, leave: Leave) -> bool {
        if leave == Leave::Body || local.len() == 0 {
            return false;
        }
        while let Some(task) = local.pop() {
            self.left.put(task);
        }
        true
    }

    fn has_work(&self) -> bool {
        !self.left.looks_empty()
    }
}
