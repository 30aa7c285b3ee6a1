//! A step's declared needs before its start.

use std::fmt::{self, Debug, Formatter};

use millpond::Pending;

use crate::collection::Collection;
use crate::current::{SlotId, Sure};
use crate::key::Key;

/// Takes the preconditions of one step: the argument of the closure of
/// [`preconditions`](crate::StepsBuilder::preconditions).
pub struct Need<'n> {
    /// The number still to be taken.
    left: usize,
    to: To<'n>,
}

enum To<'n> {
    /// The step waits for them.
    Hold(&'n Pending),
    /// Lists the missing ones.
    List(&'n mut Vec<SlotId>),
    /// Lists all items of this graph.
    All(u64, &'n mut Sure),
}

impl<'n> Need<'n> {
    pub(crate) fn hold(pending: &'n Pending, most: usize) -> Self {
        Need { left: most, to: To::Hold(pending) }
    }

    pub(crate) fn list(missing: &'n mut Vec<SlotId>, most: usize) -> Self {
        Need { left: most, to: To::List(missing) }
    }

    pub(crate) fn all(graph: u64, all: &'n mut Sure, most: usize) -> Self {
        Need { left: most, to: To::All(graph, all) }
    }

    /// Makes the step wait for this item before it starts.
    #[inline]
    pub fn wait_on<'x, K: Key>(&mut self, items: impl Collection<'x, K>, key: K) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match &mut self.to {
            To::Hold(pending) => items.hold(&key, || pending.hold()),
            To::List(missing) => missing.extend(items.missing(&key)),
            To::All(graph, all) => all.extend(items.slot(*graph, &key)),
        }
    }
}

impl Debug for Need<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Need").field("left", &self.left).finish_non_exhaustive()
    }
}
