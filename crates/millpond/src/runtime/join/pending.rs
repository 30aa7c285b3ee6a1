//! The join of a task that was not complete at its spawn. It is notified of the completion, and
//! takes the value out of the task's block.
//!
//! A join that is not complete is notified through a watcher in its scope's list. It has at most
//! one there:
//!
//! 1. The join puts the watcher into the list, then sets WATCHED in the task's state
//!    (`task::state`). The completer sets DONE. If it finds WATCHED, it takes the watcher out and
//!    notifies it. So either the join sees DONE, or the completer finds the watcher.
//! 2. A poll with the previous poll's waker leaves the watcher in place. If this poll does not see
//!    DONE, the completer will notify that watcher, or is doing so. Then another poll follows.
//! 3. A poll with another waker, or `wait` after a poll, takes the old watcher back first. If the
//!    watcher is gone, the completer has it, so DONE is set. If the completer reads the list
//!    between the removal and the insertion, it finds nothing. Then step 1 sees DONE, because the
//!    list's lock orders the two.
//! 4. If step 1 sees DONE, the join takes the watcher back. If the watcher is gone (an earlier poll
//!    had set WATCHED), the completer is notifying it. A waiter must not continue before it is
//!    woken.

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

use crate::error::{Error, Kind, Label};
use crate::panics::catch;
use crate::record::Id;
use crate::runtime::engine::Engine;
use crate::runtime::spawn::body::result_at;
use crate::sync::atomic::Ordering;
use crate::task::{Header, State, TaskRef};
use crate::worker::Worker;
use crate::worker::current;
use crate::worker::scope_state::ScopeState;
use crate::worker::wait::Waiter;
use crate::worker::watch::{Tell, Watched};

#[cfg(all(test, loom))]
mod loom_tests;

/// A task that was not complete at its spawn.
pub(crate) struct Pending<O, K: Release> {
    task: NonNull<Header>,
    usage: u64,
    pub(super) order: u64,
    scope_state: NonNull<ScopeState>,
    /// Whether the task keeps its block for this join.
    counted: bool,
    /// Where the result will be, if it needs room.
    result: Option<NonNull<Result<O, Error>>>,
    /// The waker of the watcher in the scope's list, if a poll put one there.
    watching: Cell<Option<Waker>>,
    /// The task's number in a recording.
    pub(super) record: Id,
    pub(super) release: K,
}

/// Frees the blocks that joins kept.
pub(crate) trait Release {
    fn free(&self, task: TaskRef);

    /// Whether the task's workers do not exist in this process. Then nothing is freed.
    fn is_forked(&self) -> bool {
        false
    }
}

impl<R: Release + ?Sized> Release for Arc<R> {
    fn free(&self, task: TaskRef) {
        (**self).free(task);
    }

    fn is_forked(&self) -> bool {
        (**self).is_forked()
    }
}

/// A join's copy of the task's data, read before the task is issued: afterwards the task may be
/// freed.
#[derive(Clone, Copy)]
pub(crate) struct Spawned {
    task: TaskRef,
    usage: u64,
    order: u64,
    pub(super) scope_state: NonNull<ScopeState>,
    record: Id,
    pub(super) counted: bool,
}

impl Spawned {
    /// `counted`: the task keeps its block for the join.
    #[inline(always)]
    pub(crate) fn new(task: TaskRef, counted: bool) -> Self {
        let header = task.header();
        let (usage, record) = (header.state().usage(), task.record_id());
        Spawned { task, usage, order: header.order(), scope_state: header.scope_state(), record, counted }
    }

    /// The task's number in a recording.
    pub(crate) fn record(&self) -> Id {
        self.record
    }
}

/// Whether a block must be kept for the value. A value without size and drop can be created again.
pub(crate) const fn must_count<O>() -> bool {
    size_of::<O>() != 0 || mem::needs_drop::<O>()
}

impl<O, K: Release> Pending<O, K> {
    #[inline]
    pub(crate) fn new<S, F>(spawned: Spawned, release: K) -> Self {
        let Spawned { task, usage, order, scope_state, record, counted } = spawned;
        // A counted task keeps its block. Every task with a result is counted.
        let result = if must_count::<O>() { Some(result_at::<S, F, O>(task)) } else { None };
        let watching = Cell::new(None);
        Pending { task: task.0, usage, order, scope_state, counted, result, watching, record, release }
    }

    fn state(&self) -> &State {
        // SAFETY: a counted task's block is kept for the join. Otherwise the manager keeps the
        // first word of a block a state (`Memory::largest_stable`). The rest of the header may
        // belong to another task by now, so no reference to it is made.
        unsafe { Header::state_at(self.task).as_ref() }
    }

    /// Records that the result was awaited and is available.
    #[inline]
    pub(crate) fn note_joined(&self) {
        if self.record != 0 {
            current::log(|log| log.joined(self.record));
        }
    }

    /// The reason if there will be no result.
    pub(crate) fn never(&self) -> Option<Error> {
        (self.release.is_forked() && !self.is_done()).then(|| Error::new(self.label(), Kind::Forked))
    }

    /// The label of the task, which is not complete.
    pub(crate) fn label(&self) -> Label {
        TaskRef(self.task).label()
    }

    /// Whether the task belongs to this scope.
    pub(crate) fn is_of(&self, scope_state: &ScopeState) -> bool {
        self.scope_state == NonNull::from(scope_state)
    }

    /// The task. A session's task is kept as long as this join.
    pub(crate) fn task(&self) -> TaskRef {
        TaskRef(self.task)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state().is_done(self.usage)
    }

    /// Cancels a session's task.
    pub(crate) fn cancel(&self) {
        debug_assert!(self.counted, "a session's task keeps its block for its join");
        if !self.is_done() {
            TaskRef(self.task).header().cancel();
            // After the cancel: a thread that sees the count then checks the task.
            self.scope_state().cancels().fetch_add(1, Ordering::Release);
        }
    }

    /// Waits until the task is complete, on `worker`, by `wait`.
    pub(crate) fn wait<E: Engine>(&self, worker: &Worker<E>, wait: impl FnOnce(&Waiter)) {
        if self.is_done() || !self.unwatch() {
            return;
        }
        let waiter = Waiter::new(worker.mailbox());
        if self.watch(Tell::Waiter((&waiter).into())) {
            wait(&waiter);
        }
    }

    /// Asks to wake `waker` when the task is complete, instead of the previous poll's waker.
    /// Returns false if the task is complete.
    pub(crate) fn wake_when_done(&self, waker: &Waker) -> bool {
        let watching = self.watching.take();
        let same = watching.as_ref().is_some_and(|watching| watching.will_wake(waker));
        self.watching.set(watching);
        if same {
            return true;
        }
        if !self.unwatch() {
            return false;
        }
        // Clone both first: a clone may run any code.
        let (told, kept) = (waker.clone(), waker.clone());
        let will_be_told = self.watch(Tell::Waker(told));
        if will_be_told {
            self.watching.set(Some(kept));
        }
        will_be_told
    }

    /// Takes an earlier poll's watcher back. Returns false if the task is complete and the
    /// completer has the watcher.
    fn unwatch(&self) -> bool {
        self.watching.take().is_none() || self.scope_state().watchers().take_back(self.watched())
    }

    /// Asks for a notification of the completion. No watcher may be in the list. Returns false if
    /// the task is complete and no notification will come.
    fn watch(&self, tell: Tell) -> bool {
        self.scope_state().watchers().put(self.watched(), tell);
        self.state().watch(self.usage) || !self.scope_state().watchers().take_back(self.watched())
    }

    fn watched(&self) -> Watched {
        (self.task, self.usage)
    }

    pub(super) fn scope_state(&self) -> &ScopeState {
        // SAFETY: the scope outlives its joins.
        unsafe { self.scope_state.as_ref() }
    }

    /// The scope forgets the task's failure: only this join could ask for it.
    #[inline]
    fn forget_failure(&self) {
        if !self.scope_state().is_usual() {
            drop(self.scope_state().take_failure(self.order));
        }
    }

    /// Like `take`, for a scope's join, on its thread.
    pub(super) fn take_here(self) -> Result<O, Error> {
        let failure = self.scope_state().end_join(self.order);
        self.take_with(failure)
    }

    /// The result of a complete task of a session.
    pub(crate) fn take(self) -> Result<O, Error> {
        let failure = self.scope_state().take_failure(self.order);
        self.take_with(failure)
    }

    /// A task may fail after its body, if it was the last to use a value whose drop panicked. Then
    /// only the scope has the failure.
    fn take_with(mut self, failure: Option<Error>) -> Result<O, Error> {
        // The drop releases the block.
        match self.result.take() {
            Some(result) => {
                // SAFETY: the task is complete and counted, so its result exists; it is taken once.
                let result = unsafe { result.read() };
                match (result, failure) {
                    (Ok(value), Some(failure)) => {
                        // The task has failed already.
                        let _ = catch(|| drop(value));
                        Err(failure)
                    }
                    (result, _) => result,
                }
            }
            // SAFETY: the body returned such a value, and it was forgotten (`body::keep`): it has
            // no size and no drop.
            None => failure.map_or_else(|| Ok(unsafe { NonNull::<O>::dangling().read() }), Err),
        }
    }
}

impl<O, K: Release> Drop for Pending<O, K> {
    fn drop(&mut self) {
        if self.counted && !self.release.is_forked() && self.state().drop_join() {
            let task = TaskRef(self.task);
            if let Some(result) = self.result {
                // SAFETY: the task was complete before, and its result was not taken, so the result
                // exists.
                drop_value(unsafe { result.read() }, || (self.scope_state, self.order, task.label()));
            }
            self.release.free(task);
            self.forget_failure();
        }
    }
}

/// Drops the value of a dropped join. If that panics, the scope fails with the task's label, no
/// matter when the task completes.
pub(super) fn drop_value<O>(value: O, task: impl FnOnce() -> (NonNull<ScopeState>, u64, Label)) {
    if let Err(caught) = catch(|| drop(value)) {
        let (scope_state, order, label) = task();
        // SAFETY: the scope outlives its joins.
        unsafe { scope_state.as_ref() }.fail(order, &caught.error(label));
    }
}
