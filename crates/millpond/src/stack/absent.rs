//! What the rest of the runtime names of stacks, without the feature `stack`: no scope has one.

use std::task::Waker;

use crate::runtime::scope_state::ScopeState;
use crate::task::TaskRef;

/// A stack, of which there is none.
#[derive(Debug)]
pub enum Frames {}

impl Frames {
    pub(crate) fn is_drained(&self) -> bool {
        match *self {}
    }

    pub(crate) fn running(&self) -> Option<TaskRef> {
        match *self {}
    }
}

/// Of futures that wait for closures.
pub(crate) type Wakers = ();

/// The stack of a scope.
///
/// # Safety
///
/// As of the function of this name that the feature brings; here, none.
pub(crate) unsafe fn frames_of<'a>(_scope_state: &ScopeState) -> Option<&'a Frames> {
    None
}

/// Whether a closure has ended. Nobody asks: a join of one is made by a stack.
pub(crate) fn has_ended(_scope_state: &ScopeState, _this: TaskRef, _order: u64) -> bool {
    true
}

/// Wakes a future when a closure has ended; false if it has.
pub(crate) fn wake_when_ended(_scope_state: &ScopeState, _this: TaskRef, _order: u64, _waker: &Waker) -> bool {
    false
}
