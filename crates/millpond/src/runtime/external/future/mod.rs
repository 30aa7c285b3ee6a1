//! Futures as tasks. A worker polls them; they are suspended while they wait, and polled again
//! after they are woken.
//!
//! A future that is not ready is *held*, like an external task. It does not count as running, so a
//! scope whose tasks all wait for one another is quiescent. It has one precondition, the *alarm*;
//! the first thread that wakes the future satisfies it. There are two ways to keep a future:
//!
//! - In a task's block (`ExternalTasks::run_future`). This costs that block and no stack.
//! - In place, with the stack suspended (`ExternalTasks::wait_in_place`). So a leaf can wait in the
//!   middle of its body.
//!
//! A pending future (`alarm`) is first counted as held. Then the worker removes the guard of its
//! poll. If the future was woken meanwhile, the worker lets it in at once. Only then does the
//! worker subtract the activity of this poll. It was counted when the future was let in; at the
//! first poll, it is part of the running body.

use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Poll;

use crate::error::{Error, Kind};
use crate::panics::catch;
use crate::pool::{Leave, Put};
use crate::runtime::external::tasks::{Precondition, WaitError};
use crate::task::{Role, TaskRef, VTable, flag};
use crate::worker::complete::{BodyStarted, may_start, panicked, refusal};
use crate::worker::engine::WorkerEngine;
use crate::worker::external::Admission;
use crate::worker::grain::{Ran, RunSite};
use crate::worker::wait::Waiter;
use crate::worker::waiting::Waiting;
use crate::worker::{Awaited, Worker};
use alarm::Rings;
pub(in crate::runtime) use alarm::Turn;

mod alarm;

impl Rings for Precondition {
    fn of(task: TaskRef) -> Self {
        Precondition::of(task)
    }

    fn ring(self) {
        self.satisfy();
    }
}

/// The code of a task that is a future.
pub(in crate::runtime) struct FutureCode<F>(std::marker::PhantomData<F>);

impl<F: Future<Output = ()> + Send> FutureCode<F> {
    pub(in crate::runtime) const TABLE: &'static VTable = &VTable {
        role: Role::Future,
        compact: None,
        run: Self::run,
        discard: |task| {
            // SAFETY: the future exists and will not be polled again.
            let _ = catch(|| unsafe { task.payload::<F>().drop_in_place() });
        },
        fail: |_, _, _| (),
        drop_result: |_| (),
    };

    /// Polls the future. Sets `SUSPENDED` if it is pending and a waker may wake it.
    ///
    /// # Safety
    ///
    /// As for `VTable::run`: the future exists, and no other thread has it.
    unsafe fn run(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
        let mut at: NonNull<F> = task.payload();
        // SAFETY: as the caller promises.
        let future = unsafe { at.as_mut() };
        // SAFETY: it does not move, because a block does not move.
        let polled = catch(|| Turn::<Precondition>::poll(task, unsafe { Pin::new_unchecked(future) }));
        if let Ok((Poll::Pending, true)) = polled {
            task.add_flags(flag::SUSPENDED);
            return Ok(());
        }
        // SAFETY: the future will not be polled again.
        let dropped = catch(|| unsafe { at.drop_in_place() });
        match polled {
            Ok((Poll::Ready(()), _)) => dropped.map_err(|caught| panicked(task, &caught)),
            Ok((Poll::Pending, _)) => Err(Error::new(task.label(), Kind::Abandoned)),
            Err(caught) => Err(panicked(task, &caught)),
        }
    }
}

/// The outcome of a poll on a stack.
pub(in crate::runtime) enum Turned {
    Ready,
    /// The future waits, and a waker may wake it.
    Waits,
    /// The future waits, and no waker is left to wake it.
    Lost,
}

/// The outcome of a poll of a task.
enum Polled {
    Held,
    Ended(Result<(), Error>),
}

impl<E: WorkerEngine> Worker<E> {
    /// Polls a task that is a future. Measures the run time if the future is ready at once.
    fn poll(&self, task: TaskRef) -> Polled {
        let (id, header) = (task.record_id(), task.header());
        let again = task.take_flags(flag::SUSPENDED);
        let nth = if again { 0 } else { self.count_body() };
        let before = match (id, again) {
            (0, _) => 0,
            (_, false) => self.log.started(id),
            (_, true) => self.log.resumed(id),
        };
        let started = self.grains.start_taken(header.scope_state(), nth);
        // SAFETY: only this worker has the task, and its future exists.
        let result = unsafe { (header.vtable().run)(task, self.erased()) };
        let held = header.has(flag::SUSPENDED);
        if !held {
            self.grains.end(started, || (&self.shared().kinds, Ran::of(task, RunSite::FromThePool)));
        }
        match id {
            0 => {}
            _ if held => self.log.suspended(id, before),
            _ => self.log.ended(id, result.is_ok(), before),
        }
        if held { Polled::Held } else { Polled::Ended(result) }
    }

    /// Removes the guard of a poll. Returns true if the future was woken meanwhile. Otherwise the
    /// caller must not touch the task again.
    fn unguard_future(&self, task: TaskRef) -> bool {
        task.header().meet()
    }

    /// Polls a new task in the middle of a body.
    pub(in crate::runtime) fn poll_here(&self, task: TaskRef) {
        // SAFETY: the scope is not complete while its admission is used.
        let scope_state = unsafe { task.header().scope_state().as_ref() };
        let admission = scope_state.admission().expect("an external task");
        let polled = if may_start(task) { self.poll(task) } else { Polled::Ended(self.discard_future(task)) };
        match polled {
            // The task was counted as held when it was made.
            Polled::Held if self.unguard_future(task) => {
                self.count_let_in(task);
                self.put(task, Put::Spawned);
            }
            Polled::Held => {}
            Polled::Ended(result) => {
                if let Err(error) = result {
                    scope_state.fail(task.header().order(), &error);
                }
                admission.count_let_in(self.seat());
                self.free(task);
            }
        }
    }

    /// Polls a task taken from the pool. Returns the task that is complete with it, if any.
    pub(crate) fn run_future(&self, task: TaskRef) -> Option<TaskRef> {
        if !may_start(task)
            && let Some(error) = refusal(task)
        {
            return self.refuse(task, error);
        }
        let again = task.header().has(flag::SUSPENDED);
        // Other workers must find the waiting tasks while a long body runs, and the remaining run
        // time of a body is unknown.
        if again || !self.shared().kinds.is_short(task.header().vtable()) {
            self.leave_tasks(Leave::Body);
        }
        match self.named(task, || self.poll(task)) {
            Polled::Ended(result) => self.conclude(task, result, true, BodyStarted::No),
            Polled::Held => {
                let scope_state = task.header().scope_state();
                self.hold(task);
                if self.unguard_future(task) {
                    self.count_let_in(task);
                    self.put(task, Put::Spawned);
                }
                self.count_finished(scope_state)
            }
        }
    }

    /// Drops a future that must not be polled. Returns the reason.
    #[cold]
    fn discard_future(&self, task: TaskRef) -> Result<(), Error> {
        if task.header().has(flag::RECORDED) {
            self.log.refused(task.record_id(), false);
        }
        // SAFETY: the future exists and will not be polled.
        unsafe { (task.header().vtable().discard)(task) };
        refusal(task).map_or(Ok(()), Err)
    }

    /// Counts a future as held.
    fn hold(&self, task: TaskRef) {
        // SAFETY: the task is outstanding.
        let scope_state = unsafe { task.header().scope_state().as_ref() };
        scope_state.admission().expect("an external task").count_made(self.seat());
    }

    /// Polls a future, by `poll`, in the middle of a leaf. If the worker has another stack, the
    /// leaf's stack is suspended while the future waits. Otherwise the future is polled once,
    /// without a task.
    pub(in crate::runtime) fn poll_in_place(
        &self,
        admission: &Admission,
        place: &'static Location<'static>,
        poll: &mut dyn FnMut(Option<TaskRef>) -> Turned,
    ) -> Result<(), WaitError> {
        loop {
            if !self.has_another_stack() {
                return match poll(None) {
                    Turned::Ready => Ok(()),
                    _ => Err(WaitError::NoStack { waiting: self.waiting_stacks() }),
                };
            }
            let waiting = Waiting::for_no_access(admission.scope_state(), place, Waiter::outside(self.mailbox()));
            let task = waiting.task();
            match poll(Some(task)) {
                Turned::Ready => return Ok(()),
                Turned::Lost => return Err(WaitError::Abandoned),
                Turned::Waits => self.wait_held(task, waiting.waiter()),
            }
            if task.header().is_abandoned() {
                return Err(WaitError::Abandoned);
            }
        }
    }

    /// Suspends the stack until the future waiting on it is woken.
    fn wait_held(&self, task: TaskRef, waiter: &Waiter) {
        if task.header().only_one_is_unmet() {
            // It was woken meanwhile. Other tasks run first, because it may have woken itself.
            return self.let_others_run();
        }
        let scope_state = task.header().scope_state();
        self.hold(task);
        if self.unguard_future(task) {
            self.count_let_in(task);
            _ = self.count_finished(scope_state);
            return;
        }
        _ = self.count_finished(scope_state);
        self.wait_apart(waiter, Awaited::Others);
    }
}
