//! A queue for each worker, which nobody else looks into (TP §3.3): no lock, and no balance.
//!
//! What a worker puts, it runs. Only who gives up its seat, or may be kept away from its queue until others have done what
//! lies there, leaves its tasks to all: in the runtime a thread may spawn that runs nothing, and every program ends.

use super::super::params::Params;
use super::super::queue::{List, Queue};
use super::super::shared::{Locked, Shared};
use super::{Found, Placement};
use crate::pool::Leave;
use crate::task::TaskRef;

/// See the [module](self).
pub struct Own<Q> {
    /// What was left to all.
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
