//! Where ready tasks are put, and who finds them (TP §3).

use super::params::Params;
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
pub(crate) use own::Own;
pub(crate) use own_and_central::OwnAndCentral;
pub(crate) use public::Public;
pub(crate) use random::Random;
pub(crate) use stealing::Stealing;

/// Where a worker puts tasks, and where it looks for them; see [`Pool`](crate::pool::Pool), whose methods these are.
pub trait Placement: Send + Sync + Sized + 'static {
    /// The names of those [`Params`] that matter to it.
    const PARAMS: &'static [&'static str];

    /// What one worker keeps for itself.
    type Seat: Send + 'static;

    /// Whether a worker gets what another one has put.
    const BALANCES: bool = true;

    fn new(seats: usize, params: &Params) -> (Self, Vec<Self::Seat>);

    fn put(&self, seat: &mut Self::Seat, task: TaskRef) -> Found;

    fn take(&self, seat: &mut Self::Seat) -> Option<TaskRef>;

    fn take_if(&self, seat: &mut Self::Seat, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef>;

    fn steal(&self, seat: &mut Self::Seat) -> Option<TaskRef>;

    fn leave(&self, seat: &mut Self::Seat, leave: Leave) -> bool;

    fn has_work(&self) -> bool;
}

/// What others can find of what was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing more than before.
    Nothing,
    /// Something, in a queue in which there was nothing.
    InAnEmptyQueue,
    /// Something, behind what is there.
    BehindOthers,
}

impl Found {
    /// What is found of a task that was put into a queue for all, that was empty or not.
    #[inline]
    fn of_put(was_empty: bool) -> Self {
        if was_empty { Found::InAnEmptyQueue } else { Found::BehindOthers }
    }
}
