//! The window: how many tasks of a scope may be outstanding, and what its owner does if there is no
//! room for another one.

use crate::pool::Leave;
use crate::record::Cause;
use crate::sync::spin_loop;
use crate::worker::current::with_log_of_body;
use crate::worker::engine::WorkerEngine;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;
use crate::worker::wait::Waiter;
use crate::worker::{Awaited, Worker};

/// The most tasks that an owner runs between two checks for room.
const MAX_HELP_TASKS: u32 = 64;

/// Spins for which it watches other workers run short tasks: a few microseconds.
const SPINS_PER_CHECK: u32 = 256;

/// The least number of spawns between two counts, if there is room.
const MIN_SPAWNS_BETWEEN_COUNTS: u64 = 64;

/// How many times in a row a body lets others run without progress. One is not enough: a carrier
/// that has just run a task reads its mail first, and returns to this body at once.
pub(super) const LOOKS: u32 = 2;

impl<E: WorkerEngine> Worker<E> {
    /// Makes room for another task in the window of a scope. The limit is hard for the caller of a
    /// runtime, which runs tasks or waits. It is soft in a body, which runs only its own
    /// descendants.
    #[inline]
    pub(crate) fn throttle(&self, scope_state: &ScopeState, bytes: usize) {
        if self.shared().may_be_full(scope_state, bytes) {
            E::make_room(self, scope_state, bytes);
        }
    }

    pub(crate) fn make_room_here(&self, scope_state: &ScopeState, bytes: usize) {
        if self.shared().is_forked() {
            return;
        }
        let full = !self.shared().has_room(scope_state, bytes, false);
        if full || self.shared().should_empty(scope_state, self.shared().early()) {
            let make = || match full {
                false => self.empty_early(scope_state),
                true if scope_state.task().is_none() && self.is_carrier() => self.make_room_hard(scope_state, bytes),
                true => self.make_room_soft(scope_state, bytes),
            };
            let cause = if full { Cause::Window } else { Cause::Others };
            match scope_state.record() {
                0 => make(),
                _ => with_log_of_body(&self.log, |log| log.waits_for(cause, 0, |_| make())),
            }
        }
        self.shared().note_room(scope_state);
    }

    /// Empties the window early: there is room, but the tasks have become short. Runs this worker's
    /// tasks of the scope whose kinds are known to be short, and watches others run theirs, as long
    /// as there is progress. Runs nothing else, because any other body may wait for the owner's
    /// next action.
    fn empty_early(&self, scope_state: &ScopeState) {
        self.empty(scope_state, self.shared().early(), || {
            (0..MAX_HELP_TASKS)
                .map_while(|_| self.take_short_below(scope_state))
                .map(|task| self.execute_on_top(task))
                .count()
                > 0
        });
        self.step_back(Leave::Body);
    }

    /// Watches for a few microseconds. Returns whether any of the `before` outstanding tasks has
    /// completed.
    fn sees_progress(&self, scope_state: &ScopeState, before: u64) -> bool {
        self.flush_all();
        (0..SPINS_PER_CHECK).for_each(|_| spin_loop());
        scope_state.outstanding() != before
    }

    fn make_room_soft(&self, scope_state: &ScopeState, bytes: usize) {
        let mut misses = 0;
        while misses < LOOKS && !self.shared().has_room(scope_state, bytes, true) {
            match self.take_leaf_below(scope_state) {
                Some(task) => self.execute_on_top(task),
                // A parent needs its own stack: it may wait for this body's next action.
                None if self.runs_one_apart(scope_state) => {}
                None => misses = if self.lets_any_end(scope_state) { 0 } else { misses + 1 },
            }
        }
        while self.shared().should_empty(scope_state, self.shared().config.window)
            && let Some(task) = self.take_leaf_below(scope_state)
        {
            self.execute_on_top(task);
        }
        self.step_back(Leave::Body);
    }

    /// Lets others run. Returns whether a task of the scope has completed meanwhile.
    fn lets_any_end(&self, scope_state: &ScopeState) -> bool {
        let before = scope_state.outstanding();
        let any_end = || scope_state.outstanding() < before;
        self.watch_others(&any_end);
        any_end()
    }

    fn make_room_hard(&self, scope_state: &ScopeState, bytes: usize) {
        loop {
            // Read before the check, so that a completion after the check is not missed (`count`,
            // step 6).
            let seen = scope_state.outstanding();
            if self.shared().has_room(scope_state, bytes, true) {
                break;
            }
            if self.run_below(scope_state, None, MAX_HELP_TASKS) {
                continue;
            }
            self.flush_all();
            let waiter = Waiter::new(self.mailbox());
            if scope_state.watch_for_room(&waiter, seen) && waiter.park() {
                // A completion on this worker wakes no thread.
                self.wait_on_carrier(&waiter, Awaited::Below(scope_state.into()), &|| {
                    self.shared().has_room(scope_state, bytes, true)
                });
                if !waiter.is_delivered() && !scope_state.unwatch_room() {
                    self.wait_for_delivery(&waiter);
                }
            }
        }
        self.empty(scope_state, self.shared().config.window, || self.run_below(scope_state, None, MAX_HELP_TASKS));
        self.step_back(Leave::Body);
    }

    /// Empties a window whose last `lately` tasks are short, as long as `run` runs a task or others
    /// make progress.
    fn empty(&self, scope_state: &ScopeState, lately: u64, mut run: impl FnMut() -> bool) {
        // Limited, because it may also run tasks that others put.
        let mut turns = self.shared().config.window.div_ceil(MAX_HELP_TASKS.into());
        while turns > 0 && self.shared().should_empty(scope_state, lately) {
            turns -= 1;
            let before = scope_state.outstanding();
            if !run() && !self.sees_progress(scope_state, before) {
                return;
            }
        }
    }
}

/// Queries by the owners of all scopes, sessions included (`session::core`).
impl<E: WorkerEngine> Shared<E> {
    /// Whether the owner must count before the scope may have another task.
    #[inline]
    pub(super) fn may_be_full(&self, scope_state: &ScopeState, bytes: usize) -> bool {
        scope_state.is_beyond_room() || (bytes != 0 && scope_state.bytes() + bytes as u64 > self.config.window_bytes)
    }

    /// Whether more than the last `lately` tasks of a scope could have run at their spawn, had
    /// their predecessors not waited. If so, the owner keeps running tasks, so that the next ones
    /// find their inputs ready.
    fn should_empty(&self, scope_state: &ScopeState, lately: u64) -> bool {
        scope_state.spawned_short() > lately && scope_state.outstanding() > 0
    }

    /// Whether the scope may have another task. After the window was full, a quarter must be free
    /// again, so that the spawner does not stop at each task.
    fn has_room(&self, scope_state: &ScopeState, bytes: usize, full: bool) -> bool {
        let in_flight = scope_state.outstanding();
        in_flight == 0 || (in_flight <= self.most(full) && self.fits(scope_state, bytes))
    }

    /// How many tasks may be in flight before another one is spawned.
    pub(super) fn most(&self, full: bool) -> u64 {
        let most = self.config.window - 1;
        if full { most - most / 4 } else { most }
    }

    /// Whether a task that declares this many bytes fits.
    pub(super) fn fits(&self, scope_state: &ScopeState, bytes: usize) -> bool {
        bytes == 0 || scope_state.bytes() + bytes as u64 <= self.config.window_bytes
    }

    /// Notes the room after the owner has counted.
    fn note_room(&self, scope_state: &ScopeState) {
        // At least one more task is spawned.
        self.note_room_of(scope_state, scope_state.outstanding(), 1);
    }

    /// Like `note_room`, for `in_flight` tasks in flight. At least `least` more are spawned.
    pub(super) fn note_room_of(&self, scope_state: &ScopeState, in_flight: u64, least: u64) {
        let room = self.config.window.saturating_sub(in_flight);
        // Count before the window is full: the tasks may have become short (`should_empty`).
        scope_state.set_room(room.clamp(least, self.early().max(MIN_SPAWNS_BETWEEN_COUNTS)));
    }

    /// This many spawns of short tasks in a row suffice to empty a window that is not full. After
    /// at most this many spawns, the owner checks for that.
    fn early(&self) -> u64 {
        self.config.window / 4
    }
}
