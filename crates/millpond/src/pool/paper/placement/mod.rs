//! Where workers put ready tasks, and how they find them (TP §3).

use super::settings::Settings;
use crate::pool::Leave;
use crate::task::TaskRef;

mod central;
mod fours;
mod local_random;
mod own;
mod own_and_central;
mod public;
mod random;
mod stealing;

pub(crate) use central::Central;
pub(crate) use local_random::LocalRandom;
pub(crate) use own::OwnQueues;
pub(crate) use own_and_central::OwnAndCentral;
pub(crate) use public::Public;
pub(crate) use random::Random;
pub(crate) use stealing::Stealing;

/// Where a worker puts tasks, and where it searches for them. See [`Pool`](crate::pool::Pool),
/// which has the same methods.
pub trait Placement: Send + Sync + Sized + 'static {
    /// The names of the [`Params`](super::params::Params) that affect it.
    const PARAMS: &'static [&'static str];

    /// The part of the pool that belongs to one worker.
    type Local: Send + 'static;

    /// Whether a worker can get the tasks put by another worker.
    const BALANCES: bool = true;

    fn new(seats: usize, settings: &Settings) -> (Self, Vec<Self::Local>);

    fn put(&self, local: &mut Self::Local, task: TaskRef) -> Found;

    fn take(&self, local: &mut Self::Local) -> Option<TaskRef>;

    fn take_if(&self, local: &mut Self::Local, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef>;

    fn steal(&self, local: &mut Self::Local) -> Option<TaskRef>;

    fn leave(&self, local: &mut Self::Local, leave: Leave) -> bool;

    fn has_work(&self) -> bool;
}

/// What other workers can find after a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No more tasks than before.
    Nothing,
    /// A task in a queue that was empty.
    InAnEmptyQueue,
    /// A task in a queue that already held some.
    BehindOthers,
}

impl Found {
    /// The result of a put into a queue for all workers.
    #[inline]
    fn of_put(was_empty: bool) -> Self {
        if was_empty { Found::InAnEmptyQueue } else { Found::BehindOthers }
    }
}
