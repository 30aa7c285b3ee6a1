//! The names of stacks that the rest of the runtime uses, without the feature `stack`: no scope has
//! a stack.

use std::task::Waker;

use crate::runtime::scope_state::ScopeState;
use crate::task::TaskRef;

/// A stack. There is none.
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

/// The wakers of futures that wait for closures.
pub(crate) type Wakers = ();

/// The stack of a scope.
///
/// # Safety
///
/// As for the function of this name with the feature; here there is no precondition.
pub(crate) unsafe fn frames_of<'a>(_scope_state: &ScopeState) -> Option<&'a Frames> {
    None
}

/// Whether a closure has ended. Never called: only a stack makes the join of a closure.
pub(crate) fn has_ended(_scope_state: &ScopeState, _this: TaskRef, _order: u64) -> bool {
    true
}

/// Wakes a future when a closure has ended; false if it has.
pub(crate) fn wake_when_ended(_scope_state: &ScopeState, _this: TaskRef, _order: u64, _waker: &Waker) -> bool {
    false
}
