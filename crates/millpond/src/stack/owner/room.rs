//! Room for another closure. The window of a scope limits how many of its tasks may wait, and a
//! chunk limits the bytes.
//!
//! A frame's limit is an address. When a push reaches it, the orders of the first and the last
//! closure bound the number of waiting tasks. If the window is full, the leaves that come next run
//! in place. A parent that comes next is left to thieves, perhaps to this worker, because it may
//! wait for what the body does next.

use super::run::Stopped;
use super::scope;
use crate::clock;
use crate::memory::LINE;
use crate::record::Cause;
use crate::stack::StackEngine;
use crate::stack::layout::frames::{Frames, closure};
use crate::stack::layout::link;
use crate::stack::thief::theft::{self, State};
use crate::worker::Worker;
use crate::worker::config::{Config, Inline};
use crate::worker::scope_state::ScopeState;
use crate::worker::wait::Waiter;

/// If no other worker could run them, a scope collects this many bytes of closures before its owner
/// runs them. They fit into the first-level cache.
const MAX_BYTES_ALONE: usize = 16 << 10;

/// Leaves are short if they take less on average, in clock ticks (about 0.4 ns). A theft of such
/// leaves costs about what it saves.
const SHORT_TICKS: u64 = 1000;

/// More time counts as this much, so thieves come again after about 17 ms.
const MAX_TICKS_OF_LEAVES: u64 = 1 << 21;

/// The average of fewer leaves says nothing.
const MIN_LEAVES: u64 = 32;

/// An owner that waits for room runs this many tasks between two checks.
const TASKS_PER_CHECK: u32 = 64;

/// An owner that waits for room continues with its stack when this many closures have ended.
const SOME: u64 = 256;

/// A body stops waiting for room after this many waits in a row that freed none.
const MAX_MISSES: u32 = 2;

/// A body collects this many bytes of closures before it checks the window. The window has a line
/// per task, because a closure takes at least one line.
pub(in crate::stack) fn window(config: &Config) -> usize {
    let window = usize::try_from(config.window).unwrap_or(usize::MAX).saturating_mul(LINE);
    if runs_early(config) { window.min(MAX_BYTES_ALONE) } else { window }
}

/// Whether leaves run before the window is full.
fn runs_early(config: &Config) -> bool {
    config.workers == 1 && config.inline != Inline::Never
}

impl Worker<StackEngine> {
    /// Makes room for a closure of `size` bytes. `bytes` is what its task said it holds.
    #[cold]
    pub(in crate::stack) fn make_room_in_frame(
        &self,
        scope_state: &ScopeState,
        frames: &Frames,
        size: usize,
        bytes: usize,
    ) {
        let config = &self.shared().config;
        if self.shared().is_forked() {
            frames.make_room(size);
            return frames.set_limit(window(config).max(size));
        }
        let fits = || bytes == 0 || scope_state.bytes() + bytes as u64 <= config.window_bytes;
        let is_full = || !fits() || waiting_at_most(scope_state, frames) >= config.window;
        if !is_full() && runs_early(config) && !frames.has_room(size) {
            scope::waits_for(self, scope_state, Cause::Others, 0, || self.run_leaves(frames));
        }
        let waiting = if is_full() {
            let make = || self.wait_for_room(scope_state, frames, &fits);
            scope::waits_for(self, scope_state, Cause::Window, 0, make);
            // A body that runs ahead does not check again at its very next spawn.
            waiting(scope_state, frames).min(config.window - config.window / 8)
        } else {
            waiting_at_most(scope_state, frames)
        };
        frames.make_room(size);
        let lines = usize::try_from(config.window.saturating_sub(waiting)).unwrap_or(usize::MAX).saturating_mul(LINE);
        // One closure always fits.
        frames.set_limit(if waiting == 0 { window(config) } else { lines }.max(size));
    }

    /// Runs the leaves that come next, and measures them. If they are short, thieves leave the
    /// stack alone for a while.
    fn run_measured_leaves(&self, frames: &Frames) {
        let (before, began) = (self.counts().tasks, clock::ticks());
        self.run_leaves(frames);
        let leaves = self.counts().tasks - before;
        let took = clock::ticks().saturating_sub(began);
        if leaves >= MIN_LEAVES && took < leaves * SHORT_TICKS {
            frames.rest(took.min(MAX_TICKS_OF_LEAVES));
        }
    }

    /// Runs the leaves that come next, on this stack.
    pub(in crate::stack) fn run_leaves(&self, frames: &Frames) {
        match self.run_stack(frames, false) {
            Stopped::Drained => frames.rewind(),
            // Publishes that it does not run here: a stack with only this closure must not look
            // empty (`search`, W5).
            Stopped::AtTheft(_) => frames.set_cursor(frames.cursor().0),
            _ => {}
        }
    }

    /// Waits while the window is full. The body of a root scope waits, on its own thread, until a
    /// quarter of the window is free. Any other body runs ahead if waiting does not help.
    fn wait_for_room(&self, scope_state: &ScopeState, frames: &Frames, fits: &dyn Fn() -> bool) {
        let window = self.shared().config.window;
        let has_room = || {
            waiting(scope_state, frames) <= (window - 1) - (window - 1) / 4
                && (fits() || waiting(scope_state, frames) == 0)
        };
        let is_hard = scope_state.task().is_none() && self.is_carrier();
        let mut misses = 0;
        self.run_measured_leaves(frames);
        while misses < MAX_MISSES && !has_room() {
            let (thefts, before) = (scope_state.thefts(), waiting(scope_state, frames));
            if is_hard {
                // Bytes are freed only as the owner continues. Thefts may be counted shortly before
                // they end.
                let few = !fits() || before <= SOME + self.shared().config.workers as u64;
                let fewer =
                    || if few { waiting(scope_state, frames) < before } else { scope_state.thefts() >= thefts + SOME };
                self.carry_until_fewer(frames, fewer);
            } else {
                frames.leave();
                self.watch_others(&|| waiting(scope_state, frames) < before);
                misses = if waiting(scope_state, frames) < before { 0 } else { misses + 1 };
            }
            frames.enter();
            self.run_leaves(frames);
        }
    }

    /// Leaves the stack, and runs other tasks until fewer of its closures wait, or until the next
    /// closure has ended.
    fn carry_until_fewer(&self, frames: &Frames, fewer: impl Fn() -> bool) {
        let next = closure(frames.next());
        let waiter = Waiter::new(self.mailbox());
        match theft::state(next) {
            State::Untouched | State::Reserved => {
                frames.leave();
                return self.look_until(|| theft::state(next) == State::Done || fewer());
            }
            // Perhaps no other worker can run the closure after it.
            State::Done => return frames.leave(),
            State::Stolen => {}
        }
        // All other tasks may wait for the stolen one.
        if theft::wait_for(frames, next, &waiter) && waiter.park() {
            self.look_until(|| waiter.is_delivered() || fewer());
            if !waiter.is_delivered() && !theft::wait_no_longer(next) {
                // A thief is waking this worker.
                self.wait_for_delivery(&waiter);
            }
        }
    }
}

impl Worker<StackEngine> {
    /// Waits for a condition that no thread announces. It checks the condition at short intervals.
    fn look_until(&self, done: impl Fn() -> bool) {
        if self.stay_until(&done) {
            return;
        }
        self.tasks.thief.looks_by_itself(true);
        self.carry_some_until(TASKS_PER_CHECK, &done);
        self.tasks.thief.looks_by_itself(false);
    }
}

/// An upper bound on the tasks of the youngest frame that have not ended, without combine tasks.
/// O(1).
fn waiting_at_most(scope_state: &ScopeState, frames: &Frames) -> u64 {
    if frames.is_drained() { 0 } else { scope_state.spawned_since(closure(frames.next()).header().order()) }
}

/// Like `waiting_at_most`, without tasks that thieves have ended. O(1), unless some place in
/// reference order belongs to no task.
fn waiting(scope_state: &ScopeState, frames: &Frames) -> u64 {
    if !scope_state.has_gaps() {
        return waiting_at_most(scope_state, frames).saturating_sub(scope_state.thefts());
    }
    let closures = link::closures(frames.cursor().0, frames.top());
    closures.filter(|&this| theft::state(this) != State::Done).count() as u64
}
