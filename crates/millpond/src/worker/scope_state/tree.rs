//! The place of a scope among those around it, and their cancellation.

use std::ptr;

use super::ScopeState;
use crate::sync::atomic::AtomicUsize;

impl ScopeState {
    /// The nesting depth: 0 for a root.
    #[cfg(feature = "catalogue")]
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether the scope is `of` or is nested in it. Checks only a few steps, so it is a hint about
    /// which tasks a worker may run.
    pub(crate) fn is_near_below(&self, of: &ScopeState) -> bool {
        const STEPS: u32 = 8;
        let mut scope_state = self;
        for _ in 0..STEPS {
            if ptr::eq(scope_state, of) {
                return true;
            }
            match scope_state.parent {
                // SAFETY: a scope's parent outlives it.
                Some(parent) if scope_state.depth > of.depth => scope_state = unsafe { parent.as_ref() },
                _ => return false,
            }
        }
        false
    }

    /// Whether the scope has no parent.
    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Whether the scope is this root scope or is nested in it.
    pub(crate) fn has_root(&self, root: &ScopeState) -> bool {
        self.cancels == root.cancels
    }

    /// Whether the scope is `of` or is nested in it: O(depth).
    pub(crate) fn is_below(&self, of: &ScopeState) -> bool {
        // SAFETY: a scope's parent outlives it.
        let scopes = std::iter::successors(Some(self), |scope| scope.parent.map(|parent| unsafe { parent.as_ref() }));
        scopes.take_while(|scope| scope.depth >= of.depth).any(|scope| ptr::eq(scope, of))
    }

    /// The number of cancellations in the root scope.
    pub(crate) fn cancels(&self) -> &AtomicUsize {
        // SAFETY: as above.
        unsafe { self.cancels.as_ref() }.count()
    }

    /// Whether this scope or one around it was cancelled. One load, unless a scope of the program
    /// was cancelled.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.cancels.as_ref() }.any() && self.is_cancelled_slow()
    }

    #[cold]
    fn is_cancelled_slow(&self) -> bool {
        let mut scope_state = self;
        loop {
            if scope_state.is_cancelled_itself() {
                return true;
            }
            let Some(parent) = scope_state.parent else { return false };
            // SAFETY: a scope's parent outlives it.
            let parent = unsafe { parent.as_ref() };
            if parent.is_sessions() && scope_state.task().is_some_and(|task| task.header().is_cancelled()) {
                return true;
            }
            scope_state = parent;
        }
    }
}
