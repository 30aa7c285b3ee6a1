//! The worker's behaviour if the system has no other stack. Each stack is two mappings, whose
//! number the system limits. A stack also takes addresses, which the system may limit.
//!
//! A waiting body is suspended on its stack, and its worker continues with another stack. If there
//! is none, the wait is refused with an error ([`Kind::NoStack`]), where an error can be returned.
//! Two waits cannot return an error: the end of an inner scope, and the wait for a fork. During
//! these, the worker runs a few tasks at once on its thread's own stack.

use super::Worker;
use super::current::OnStack;
use super::fiber;
use crate::error::Kind;
use crate::task::TaskRef;
use crate::worker::engine::WorkerEngine;

/// How many tasks may run on a thread's own stack, one on top of the other.
const MAX_TASKS_ON_THREAD: u32 = 16;

impl<E: WorkerEngine> Worker<E> {
    /// Returns the reason why the body here must not wait, if there is one.
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
        self.fibers.on_thread() < MAX_TASKS_ON_THREAD || self.has_another_stack()
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
