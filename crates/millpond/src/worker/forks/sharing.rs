//! The interface of a worker's stack of forks for loops (`each`).

use super::{Forks, Private};
use crate::sync::atomic::Ordering::Relaxed;
use crate::worker::loops::Loops;

/// The state of the other workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// None is idle.
    Busy,
    /// Some are idle, and some of these sleep: an offer wakes one.
    Asleep,
    /// Some search for work, and none sleeps.
    Looking,
}

impl Forks {
    /// How many workers share forks, with this one.
    #[inline]
    pub(crate) fn workers(&self) -> usize {
        self.workers.get()
    }

    /// This worker's memory of its loops.
    #[inline]
    pub(crate) fn loops(&self) -> &Loops {
        &self.loops
    }

    /// What the other workers do, if a fork pushed now is the next one that they get. It is not if
    /// the stack is closed, if the last offer was not taken, or if another fork is private. In the
    /// last case this looks (6).
    #[inline]
    pub(crate) fn others(&self) -> Option<Others> {
        if !self.limits.push.load(Relaxed) {
            return None;
        }
        if self.private() != Private::None {
            self.look_again();
            return None;
        }
        (self.closed.get() == 0).then(|| self.worker().others())
    }

    /// Looks without a push or a pop (6).
    #[inline]
    pub(crate) fn answer(&self) {
        if self.limits.push.load(Relaxed) {
            self.look_again();
        }
    }
}
