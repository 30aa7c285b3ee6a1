//! One queue for all (TP §3.1).

use super::super::settings::Settings;
use super::super::shared::Shared;
use super::{Found, Placement};
use crate::pool::Leave;
use crate::task::TaskRef;

/// See the [module](self).
pub struct Central<S>(S);

#[cfg(all(test, not(loom)))]
impl<Q: super::super::queue::Queue, E> Central<super::super::shared::Locked<Q, E>> {
    /// See [`Queue::places`](super::super::queue::Queue::places).
    pub(crate) fn places(&self) -> Vec<usize> {
        self.0.places()
    }
}

impl<S: Shared> Placement for Central<S> {
    const PARAMS: &'static [&'static str] = if S::HAS_CAPACITY { &["lock", "capacity"] } else { &["lock"] };
    type Local = ();

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<()>) {
        (Central(S::new(settings)), vec![(); seats])
    }

    #[inline]
    fn put(&self, _local: &mut (), task: TaskRef) -> Found {
        Found::of_put(self.0.put(task))
    }

    #[inline]
    fn take(&self, _local: &mut ()) -> Option<TaskRef> {
        self.0.take()
    }

    fn take_if(&self, _local: &mut (), wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.0.take_if(wanted)
    }

    fn steal(&self, _local: &mut ()) -> Option<TaskRef> {
        None
    }

    fn leave(&self, _local: &mut (), _leave: Leave) -> bool {
        false
    }

    fn has_work(&self) -> bool {
        !self.0.looks_empty()
    }
}
