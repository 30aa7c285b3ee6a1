//! The closures that thieves have reserved in a stack.
//!
//! A thief that takes several short closures marks only the first one as stolen. It reserves the
//! others, and begins them one after the other. Each waits for nothing, or only for earlier ones of
//! its batch.
//!
//! 1. A scan reserves closures under the stack's owner lock, and adds them as a batch.
//! 2. The thief of a batch begins the next closure: it makes the closure STOLEN and removes it from
//!    the batch. When nothing is left, or the batch is gone, the thief is finished.
//! 3. Any thread may end a batch: all closures in it become untouched. An owner does so when it
//!    reaches one of them, and another thief when it wants one of them and finds nothing else. So a
//!    closure does not wait for a thief that waits itself. The thief does so when it must turn to
//!    something else.
//!
//! The mutex orders 2 and 3. So either the thief has begun a closure, and it is STOLEN, or the
//! batch has ended, and the thief begins none of its closures.
//!
//! A batch has no closure that its owner has passed: the owner has ended the batch, or the thief
//! had begun the closure. So the batch never refers to memory that a frame has reused.

use std::collections::VecDeque;

use super::theft::{self, State};
use crate::sync::Mutex;
use crate::task::TaskRef;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
#[derive(Debug, Default)]
pub(in crate::stack) struct Batches(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    /// The number of the last batch.
    last: u64,
    batches: Vec<(u64, VecDeque<TaskRef>)>,
}

// SAFETY: the closures of a list exist (see the module), and are used only through their atomic
// state.
unsafe impl Send for List {}

impl Batches {
    /// Reserves closures, and returns the number of their batch. `None` if there are none.
    pub(super) fn reserve(&self, closures: Vec<TaskRef>) -> Option<u64> {
        if closures.is_empty() {
            return None;
        }
        let mut list = self.0.lock();
        closures.iter().copied().for_each(theft::reserve);
        list.last += 1;
        let number = list.last;
        list.batches.push((number, closures.into()));
        Some(number)
    }

    /// The thief of a batch begins the next closure.
    pub(super) fn begin_next(&self, batch: u64) -> Option<TaskRef> {
        let mut list = self.0.lock();
        let at = list.batches.iter().position(|(number, _)| *number == batch)?;
        let closures = &mut list.batches[at].1;
        let next = closures.pop_front();
        if closures.is_empty() {
            list.batches.swap_remove(at);
        }
        next.inspect(|&next| theft::begin(next))
    }

    /// Ends a batch. Returns whether there was something left of it.
    pub(super) fn end(&self, batch: u64) -> bool {
        let mut list = self.0.lock();
        let at = list.batches.iter().position(|(number, _)| *number == batch);
        at.map(|at| list.end(at)).is_some()
    }

    /// Ends the batch of a closure, which is untouched then. Returns false if its thief has begun
    /// it.
    pub(in crate::stack) fn take_back(&self, closure: TaskRef) -> bool {
        let mut list = self.0.lock();
        if theft::state(closure) == State::Reserved {
            let at = list.batches.iter().position(|(_, closures)| closures.contains(&closure));
            list.end(at.expect("a reserved closure is in a batch"));
        }
        theft::state(closure) == State::Untouched
    }
}

impl List {
    fn end(&mut self, at: usize) {
        let (_, closures) = self.batches.swap_remove(at);
        closures.into_iter().for_each(theft::give_back);
    }
}
