//! Futures as tasks: polled by a worker, put aside while they wait, polled again when they are woken.
//!
//! A future that is not ready is *held*, as a task behind a door is: it does not count as running, so a scope whose
//! tasks all wait for one another is quiescent. It has one precondition, the *alarm*, which whoever wakes it first
//! satisfies. Two ways to keep it:
//!
//! - in a task's block (`ExternalTasks::run_future`): it costs that block, and no stack;
//! - where it is, the stack being put aside (`ExternalTasks::wait_in_place`): so a leaf waits in the middle of its body.
//!
//! A future that is pending (`alarm`) is counted as held, then the guard of its poll is taken away: if it was woken
//! meanwhile, it is let in at once. Only then its activity is counted as ended, which was counted when it was let in; or,
//! at its first poll, is part of the body that runs.

use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Poll;

use crate::engine::Engine;
use crate::error::{Error, Kind};
use crate::panics::catch;
use crate::pool::{Leave, Put};
use crate::runtime::external::admission::Admission;
use crate::runtime::external::tasks::{Precondition, WaitError};
use crate::runtime::wait_on::Waiting;
use crate::task::{Role, TaskRef, VTable, flag};
use crate::worker::complete::{Ran, may_start, panicked, refusal};
use crate::worker::grain;
use crate::worker::wait::Waiter;
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
            // SAFETY: the future is there, and will not be polled again.
            let _ = catch(|| unsafe { task.payload::<F>().drop_in_place() });
        },
        fail: |_, _, _| (),
        drop_result: |_| (),
    };

    /// Polls; sets `SUSPENDED` if the future is pending and somebody may wake it.
    ///
    /// # Safety
    ///
    /// As `VTable::run`: the future is there, and nobody else has it.
    unsafe fn run(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
        let mut at: NonNull<F> = task.payload();
        // SAFETY: as the caller promises.
        let future = unsafe { at.as_mut() };
        // SAFETY: it does not move: a block stays where it is.
        let polled = catch(|| Turn::<Precondition>::poll(task, unsafe { Pin::new_unchecked(future) }));
        if let Ok((Poll::Pending, true)) = polled {
            task.add_flags(flag::SUSPENDED);
            return Ok(());
        }
        // SAFETY: it will not be polled again.
        let dropped = catch(|| unsafe { at.drop_in_place() });
        match polled {
            Ok((Poll::Ready(()), _)) => dropped.map_err(|caught| panicked(task, &caught)),
            Ok((Poll::Pending, _)) => Err(Error::new(task.label(), Kind::Abandoned)),
            Err(caught) => Err(panicked(task, &caught)),
        }
    }
}

/// How a poll on a stack has gone.
pub(in crate::runtime) enum Turned {
    Ready,
    /// It waits, and somebody may wake it.
    Waits,
    /// It waits, and nobody will wake it.
    Lost,
}

/// How a poll of a task has gone.
enum Polled {
    Held,
    Ended(Result<(), Error>),
}

impl<E: Engine> Worker<E> {
    /// Polls a task that is a future. How long it takes is measured if it is ready at once.
    fn poll(&self, task: TaskRef) -> Polled {
        let (id, header) = (task.record_id(), task.header());
        let again = task.take_flags(flag::SUSPENDED);
        let nth = if again { 1 } else { self.count_body() };
        let before = match (id, again) {
            (0, _) => 0,
            (_, false) => self.log.started(id),
            (_, true) => self.log.resumed(id),
        };
        let started = self.grains.start_taken(header.scope_state(), nth);
        // SAFETY: this worker has the task alone, and its future is there.
        let result = unsafe { (header.vtable().run)(task, self.erased()) };
        let held = header.has(flag::SUSPENDED);
        if !held {
            self.grains.end(|| &self.shared().kinds, header.vtable(), started, grain::Ran::FromThePool);
        }
        match id {
            0 => {}
            _ if held => self.log.suspended(id, before),
            _ => self.log.ended(id, result.is_ok(), before),
        }
        if held { Polled::Held } else { Polled::Ended(result) }
    }

    /// Takes the guard of a poll away; true if the future was woken meanwhile. Else it is not to be touched any more.
    fn unguard_future(&self, task: TaskRef) -> bool {
        task.header().meet()
    }

    /// Polls a new task in the middle of a body.
    pub(in crate::runtime) fn poll_here(&self, task: TaskRef) {
        // SAFETY: the scope is not complete while its door is used.
        let scope_state = unsafe { task.header().scope_state().as_ref() };
        let admission = scope_state.admission().expect("a door made the task");
        let polled = if may_start(task) { self.poll(task) } else { Polled::Ended(self.discard_future(task)) };
        match polled {
            // It was counted as held when it was made.
            Polled::Held if self.unguard_future(task) => {
                self.count_let_in(task);
                self.put(task, Put::Spawned);
            }
            Polled::Held => {}
            Polled::Ended(result) => {
                if let Err(error) = result {
                    scope_state.fail(task.header().order(), &error);
                }
                admission.count_let_in(self.seat().index());
                self.free(task);
            }
        }
    }

    /// Polls a task that was taken from the pool; what is complete with it, if anything is.
    pub(crate) fn run_future(&self, task: TaskRef) -> Option<TaskRef> {
        if !may_start(task)
            && let Some(error) = refusal(task)
        {
            return self.refuse(task, error);
        }
        let again = task.header().has(flag::SUSPENDED);
        // Others must be able to find what waits here while a long body runs; how long the rest of one is nobody knows.
        if again || !self.shared().kinds.is_short(task.header().vtable()) {
            self.leave_tasks(Leave::Body);
        }
        match self.named(task, || self.poll(task)) {
            Polled::Ended(result) => self.conclude(task, result, true, Ran::No),
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

    /// Drops a future that must not be polled; why it must not.
    #[cold]
    fn discard_future(&self, task: TaskRef) -> Result<(), Error> {
        if task.header().has(flag::RECORDED) {
            self.log.refused(task.record_id(), false);
        }
        // SAFETY: the future is there and will not be polled.
        unsafe { (task.header().vtable().discard)(task) };
        refusal(task).map_or(Ok(()), Err)
    }

    /// Counts a future as held.
    fn hold(&self, task: TaskRef) {
        // SAFETY: the task is outstanding.
        let scope_state = unsafe { task.header().scope_state().as_ref() };
        scope_state.admission().expect("a door made the task").count_made(self.seat().index());
    }

    /// Polls a future, by `poll`, in the middle of a leaf, whose stack is put aside while it waits: if the worker has
    /// another one. Otherwise it is polled once, as no task.
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
            let waiting = Waiting::for_no_access(admission.scope_state(), place, Waiter::outside(self.seat()));
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

    /// Puts the stack aside until the future that waits on it is woken.
    fn wait_held(&self, task: TaskRef, waiter: &Waiter) {
        if task.header().only_one_is_unmet() {
            // Woken meanwhile. Others first: it may have woken itself.
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
