//! The failures of a scope: the first in reference order, and those that joins may ask for.
//!
//! A task with a value keeps its failure in its block, in place of the value, until its join is
//! dropped. The block of a scope's task without a value is freed at its end. Nothing tells whether
//! its join still exists, because most joins are dropped where they are made. So:
//!
//! 1. The owner counts the existing joins (`ScopeState::joins`) of tasks that did not run at their
//!    spawn. It does not count joins of tasks in a stack's frame, which would cost such tasks 2 to
//!    5 %. So a scope of a stack keeps the failures of its tasks without a value until it ends, or
//!    until their joins have asked.
//! 2. When the task ends, its failure is kept for a join. The join takes it out. A session's tasks
//!    know when their joins are dropped.
//! 3. If the owner finds no join, it forgets the kept failures, except for the task spawned last,
//!    whose join may not be made yet. It checks when a task fails on its thread, when it checks for
//!    room, and after it has waited for a task.
//!
//! No failure is dropped under the lock: an error that a body returned is a value of the user's,
//! whose drop may run tasks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::ScopeState;
use super::rare::Cold;
use crate::error::Error;
use crate::sync::atomic::Ordering;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Failures {
    /// The first in reference order, with its place: of the causes, and of the consequences.
    cause: Option<(u64, Error)>,
    consequence: Option<(u64, Error)>,
    /// Why tasks that have not started must not run, by place in reference order.
    misused: HashMap<u64, Error>,
    /// The failures that a join may ask for, by place in reference order.
    kept: HashMap<u64, Error>,
    /// No task before this place has a join.
    unjoined: u64,
}

impl Failures {
    /// Notes a failure; returns the ones that are no longer kept. Drop them without the lock: an
    /// error may hold a value of the user's.
    fn note(&mut self, order: u64, error: &Error) -> [Option<Error>; 2] {
        let misused = self.misused.remove(&order);
        let first = if error.is_consequence() { &mut self.consequence } else { &mut self.cause };
        if first.as_ref().is_some_and(|&(earlier, _)| order >= earlier) {
            return [misused, None];
        }
        let later = first.replace((order, error.clone()));
        [misused, later.map(|(_, error)| error)]
    }

    /// Keeps a failure for a join. Returns the failure if it is not kept.
    fn keep(&mut self, order: u64, error: Error) -> Option<Error> {
        if order < self.unjoined {
            return Some(error);
        }
        match self.kept.entry(order) {
            Entry::Vacant(place) => {
                place.insert(error);
                None
            }
            Entry::Occupied(_) => Some(error),
        }
    }
}

impl ScopeState {
    /// Notes that the task at this place in reference order failed. Its join, if it has one, knows.
    pub(crate) fn fail(&self, order: u64, error: &Error) {
        let forgotten = { self.cold().failures.lock().note(order, error) };
        drop(forgotten);
        self.stop_scopes();
    }

    /// Like `fail`, for a task whose join asks for the failure.
    pub(crate) fn fail_for_join(&self, order: u64, error: Error) {
        self.fail(order, &error);
        self.keep_failure(order, error);
    }

    /// Keeps the failure of a task for its join.
    pub(crate) fn keep_failure(&self, order: u64, error: Error) {
        let refused = { self.cold().failures.lock().keep(order, error) };
        drop(refused);
    }

    /// Notes why a task that is being spawned must not run.
    pub(crate) fn misuse(&self, order: u64, error: Error) {
        let before = { self.cold().failures.lock().misused.insert(order, error) };
        drop(before);
    }

    /// Why the task at `order` must not run, if it was misused.
    pub(crate) fn misuse_of(&self, order: u64) -> Option<Error> {
        self.cold_if_any()?.failures.lock().misused.get(&order).cloned()
    }

    /// The failure of the task at `order`, whose join is dropped with this.
    pub(crate) fn end_join(&self, order: u64) -> Option<Error> {
        self.uncount_join();
        let failure = self.take_failure(order);
        // Other tasks may have failed during the wait for this one.
        self.forget_failures();
        failure
    }

    /// The failure of the task at `order` that was kept for its join. The join asks once.
    pub(crate) fn take_failure(&self, order: u64) -> Option<Error> {
        self.cold_if_any()?.failures.lock().kept.remove(&order)
    }

    /// The first failure in reference order: of the causes, or of all if there is no cause.
    pub(crate) fn first_failure(&self) -> Option<Error> {
        let failures = self.cold_if_any()?.failures.lock();
        failures.cause.as_ref().or(failures.consequence.as_ref()).map(|(_, error)| error.clone())
    }

    /// The owner drops the failures that no join can ask for.
    #[inline]
    pub(crate) fn forget_failures(&self) {
        if !self.is_usual() && self.joins.get() == 0 && !self.is_sessions() {
            self.forget_kept();
        }
    }

    #[cold]
    fn forget_kept(&self) {
        // Perhaps no task was spawned yet.
        let last = self.next_order().saturating_sub(2);
        let mut failures = self.cold().failures.lock();
        failures.unjoined = last;
        if !failures.kept.is_empty() {
            let mut forgotten = Vec::new();
            for (order, error) in std::mem::take(&mut failures.kept) {
                if order >= last {
                    failures.kept.insert(order, error);
                } else {
                    forgotten.push(error);
                }
            }
            drop(failures);
            drop(forgotten);
        }
    }

    /// Sets whether the first failure cancels the scope, including a failure that has already
    /// happened.
    pub(crate) fn cancel_on_failure(&self, cancels: bool) {
        if !cancels && self.is_usual() {
            return;
        }
        let cold = self.cold();
        cold.fails_fast.store(cancels, Ordering::Release);
        // The store comes before the check. Either this sees a failure that is noted meanwhile, or
        // the thread that notes it sees the store, through the lock.
        if cancels && self.first_failure().is_some() {
            self.cancel_token().cancel();
        }
    }

    /// After a failure, cancels this scope and those around it, where `cancel_on_failure` is set.
    #[cold]
    pub(super) fn stop_scopes(&self) {
        let mut scope = self;
        loop {
            let stops = |cold: &Cold| cold.fails_fast.load(Ordering::Acquire);
            if scope.cold_if_any().is_some_and(stops) && !scope.is_cancelled_itself() {
                scope.cancel_token().cancel();
            }
            match scope.parent {
                // SAFETY: a scope's parent outlives it.
                Some(parent) => scope = unsafe { parent.as_ref() },
                None => return,
            }
        }
    }
}
