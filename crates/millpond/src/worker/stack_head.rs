//! The interface of a dataflow stack to workers, scopes and joins. The stack itself (`stack`) is
//! above them.

use std::ptr::NonNull;
use std::task::Waker;

use super::scope_state::ScopeState;
use crate::task::TaskRef;

/// The first field of a stack. A pointer to it is a pointer to the stack.
#[derive(Debug)]
pub(crate) struct StackHead {
    pub(crate) ops: &'static StackOps,
}

/// The functions of a stack. Each first argument points to the whole stack.
#[derive(Debug)]
pub(crate) struct StackOps {
    /// The task whose body runs, for the thread that runs it.
    pub(crate) running: unsafe fn(NonNull<StackHead>) -> Option<TaskRef>,
    /// Whether all closures of the youngest frame were handed on or have ended.
    pub(crate) is_drained: unsafe fn(NonNull<StackHead>) -> bool,
    /// Whether the closure with this place in reference order has ended.
    pub(crate) has_ended: unsafe fn(NonNull<StackHead>, TaskRef, u64) -> bool,
    /// Wakes a future when that closure of the scope has ended. Returns false if it has already.
    pub(crate) wake_when_ended: fn(&ScopeState, TaskRef, u64, &Waker) -> bool,
}

impl StackHead {
    /// # Safety
    ///
    /// The stack runs on this thread.
    pub(crate) unsafe fn running(this: NonNull<StackHead>) -> Option<TaskRef> {
        // SAFETY: a stack exists as long as it runs.
        let ops = unsafe { this.as_ref() }.ops;
        // SAFETY: as the caller promises.
        unsafe { (ops.running)(this) }
    }
}

impl ScopeState {
    /// Whether a stack holds tasks of the scope that it has not handed on. The scope's body calls
    /// this.
    pub(crate) fn has_closures(&self) -> bool {
        self.stack_head().is_some_and(|head| {
            // SAFETY: a scope's stack stays until the scope ends.
            let ops = unsafe { head.as_ref() }.ops;
            // SAFETY: as above, and the scope's body runs on this thread.
            !unsafe { (ops.is_drained)(head) }
        })
    }

    /// Whether a closure of the scope has ended. The scope's body calls this.
    pub(crate) fn has_ended(&self, closure: TaskRef, order: u64) -> bool {
        self.stack_head().is_none_or(|head| {
            // SAFETY: a scope's stack stays until the scope ends.
            let ops = unsafe { head.as_ref() }.ops;
            // SAFETY: as above, and the scope's body runs on this thread.
            unsafe { (ops.has_ended)(head, closure, order) }
        })
    }

    /// Wakes a future when a closure of the scope has ended. Returns false if it has. The scope's
    /// body calls this.
    pub(crate) fn wake_when_ended(&self, closure: TaskRef, order: u64, waker: &Waker) -> bool {
        self.stack_head().is_some_and(|head| {
            // SAFETY: a scope's stack stays until the scope ends.
            let ops = unsafe { head.as_ref() }.ops;
            (ops.wake_when_ended)(self, closure, order, waker)
        })
    }
}
