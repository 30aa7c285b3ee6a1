//! What a worker does when the system has no other stack: stacks are two mappings each, whose number is bounded, and take
//! addresses, which may be.
//!
//! A body that waits is put aside on its stack, and its worker goes on with another. If there is none, the wait is refused with an
//! error ([`Kind::NoStack`]), where an error can be returned. What cannot (the end of an inner scope, the wait for a fork) waits
//! nevertheless. Then the worker runs tasks on its thread's own stack, a few at once.

use super::Worker;
use super::current::OnStack;
use super::fiber;
use crate::engine::Engine;
use crate::error::Kind;
use crate::task::TaskRef;

/// Tasks that may run on a thread's own stack, one on top of the other.
const MOST: u32 = 16;

impl<E: Engine> Worker<E> {
    /// Why the body that runs here must not wait, if that is so.
    #[inline]
    pub(crate) fn refuses_wait(&self) -> Option<Kind> {
        if fiber::are_scarce() { self.refuses_wait_now() } else { None }
    }

    #[cold]
    fn refuses_wait_now(&self) -> Option<Kind> {
        let runs_task = !self.is_carrier() || self.fibers.on_thread() > 0;
        let refuses = runs_task && !self.has_another_stack();
        refuses.then(|| Kind::NoStack { waiting: self.waiting_stacks() })
    }

    /// Whether this worker may take a task.
    pub(super) fn has_stack_for_task(&self) -> bool {
        self.fibers.on_thread() < MOST || self.has_another_stack()
    }

    /// Runs a task on the thread's own stack.
    #[cold]
    pub(super) fn run_on_thread(&self, task: TaskRef) {
        let on_stack = OnStack::save();
        OnStack::bottom(self).restore();
        let closed = self.forks.set_aside();
        self.fibers.run_on_thread(|| self.execute(task));
        self.forks.put_back(closed);
        on_stack.restore();
    }
}
