//! A queue for each worker, which no other worker reads (TP §3.3). There is no lock, and no
//! balance.
//!
//! A worker runs the tasks that it puts. It leaves its tasks to all workers in only two cases: when
//! it gives up its seat, and when it may be kept from its queue until others have run the tasks
//! there. So every program ends, even if a thread spawns tasks and runs none.

use super::super::params::Params;
use super::super::queue::{List, Queue};
use super::super::shared::{Locked, Shared};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::task::TaskRef;

/// See the [module](self).
pub struct Own<Q> {
    /// Tasks that were left to all workers.
    left: Locked<List>,
    queue: std::marker::PhantomData<fn() -> Q>,
}

impl<Q: Queue + 'static> Placement for Own<Q> {
    const PARAMS: &'static [&'static str] = &["lock"];
    type Seat = Q;

    const BALANCES: bool = false;

    fn new(seats: usize, params: &Params) -> (Self, Vec<Q>) {
        let pool = Own { left: Locked::new(params.lock), queue: std::marker::PhantomData };
        (pool, (0..seats).map(|_| Q::default()).collect())
    }

    #[inline]
    fn put(&self, seat: &mut Q, task: TaskRef) -> Found {
        seat.push(task);
        Found::Nothing
    }

    #[inline]
    fn take(&self, seat: &mut Q) -> Option<TaskRef> {
        seat.pop()
    }

    fn take_if(&self, seat: &mut Q, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if seat.newest().is_some_and(wanted) { seat.pop() } else { None }
    }

    fn steal(&self, _seat: &mut Q) -> Option<TaskRef> {
        if self.left.looks_empty() { None } else { self.left.take() }
    }

    fn leave(&self, seat: &mut Q, leave: Leave) -> bool {
        if leave == Leave::Body || seat.len() == 0 {
            return false;
        }
        while let Some(task) = seat.pop() {
            self.left.put(task);
        }
        true
    }

    fn has_work(&self) -> bool {
        !self.left.looks_empty()
    }
}
