//! Room for another closure: the window of a scope (how many of its tasks may wait), and the next chunk.
//!
//! A frame's limit is a place in memory; where it is, a look at the orders of the first and the last closure says how many
//! there are at most. In a full window the leaves that come next run in place. A parent is stolen, be it by this worker: it may
//! wait for what the body does next.

use super::run::Stopped;
use super::scope;
use crate::memory::LINE;
use crate::record::Cause;
use crate::runtime::config::{Config, Inline};
use crate::runtime::scope_state::ScopeState;
use crate::stack::StackEngine;
use crate::stack::layout::frames::{Frames, closure};
use crate::stack::layout::link;
use crate::stack::thief::theft::{self, State};
use crate::worker::Worker;
use crate::worker::wait::Waiter;

/// Bytes of closures that a scope collects before its owner runs them, if nobody else is there who could: what the
/// first-level cache holds.
const ALONE: usize = 16 << 10;

/// Tasks that an owner who waits for room runs until it looks again.
const HELP: u32 = 64;

/// How many closures must have ended until an owner who waits for room goes on with its stack.
const SOME: u64 = 256;

/// How often in a row a body lets others run in vain.
const LOOKS: u32 = 2;

/// Bytes of closures that a body collects before it looks: as many lines as the window has tasks, since a closure is of a line at
/// least.
pub(in crate::stack) fn window(config: &Config) -> usize {
    let window = usize::try_from(config.window).unwrap_or(usize::MAX).saturating_mul(LINE);
    if runs_early(config) { window.min(ALONE) } else { window }
}

/// Whether leaves run before the window is full.
fn runs_early(config: &Config) -> bool {
    config.workers == 1 && config.inline != Inline::Never
}

impl Worker<StackEngine> {
    /// Makes room for a closure of `size` bytes, whose task says that it holds `bytes`.
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
            // A body that runs ahead does not look again at its next spawn.
            waiting(scope_state, frames).min(config.window - config.window / 8)
        } else {
            waiting_at_most(scope_state, frames)
        };
        frames.make_room(size);
        let lines = usize::try_from(config.window.saturating_sub(waiting)).unwrap_or(usize::MAX).saturating_mul(LINE);
        // One closure always fits.
        frames.set_limit(if waiting == 0 { window(config) } else { lines }.max(size));
    }

    /// Runs the leaves that come next, on this stack.
    pub(in crate::stack) fn run_leaves(&self, frames: &Frames) {
        match self.run_stack(frames, false) {
            Stopped::Drained => frames.rewind(),
            // It is not run here: a stack with nothing beside it is not empty (`thief`, W5).
            Stopped::AtTheft(_) => frames.set_cursor(frames.cursor().0),
            _ => {}
        }
    }

    /// The window is full. The caller of a runtime waits until a quarter of it is free; a body runs ahead if that does not help.
    fn wait_for_room(&self, scope_state: &ScopeState, frames: &Frames, fits: &dyn Fn() -> bool) {
        let window = self.shared().config.window;
        let has_room = || {
            waiting(scope_state, frames) <= (window - 1) - (window - 1) / 4
                && (fits() || waiting(scope_state, frames) == 0)
        };
        let is_hard = scope_state.task().is_none() && self.is_carrier();
        let mut misses = 0;
        self.run_leaves(frames);
        while misses < LOOKS && !has_room() {
            let (thefts, before) = (scope_state.thefts(), waiting(scope_state, frames));
            if is_hard {
                // Bytes are freed as the owner goes on; and thefts that are about to end are counted, perhaps.
                let few = !fits() || before <= SOME + self.shared().config.workers as u64;
                let fewer =
                    || if few { waiting(scope_state, frames) < before } else { scope_state.thefts() >= thefts + SOME };
                self.carry_until_fewer(frames, fewer);
            } else {
                frames.leave();
                self.watch_others(|| waiting(scope_state, frames) < before);
                misses = if waiting(scope_state, frames) < before { 0 } else { misses + 1 };
            }
            frames.enter();
            self.run_leaves(frames);
        }
    }

    /// Leaves the stack, and runs what there is until fewer of its closures wait; or until the one has ended that comes next.
    fn carry_until_fewer(&self, frames: &Frames, fewer: impl Fn() -> bool) {
        let next = closure(frames.next());
        let waiter = Waiter::new(self.seat());
        match theft::state(next) {
            State::Untouched => {
                frames.leave();
                return self.look_until(|| theft::state(next) == State::Done || fewer());
            }
            // What comes then may be nobody else's.
            State::Done => return frames.leave(),
            State::Stolen => {}
        }
        // All may wait for the one that was stolen.
        if theft::wait_for(frames, next, &waiter) && waiter.park() {
            self.look_until(|| waiter.is_delivered() || fewer());
            if !waiter.is_delivered() && !theft::wait_no_longer(next) {
                // Somebody is waking it.
                self.wait_for_delivery(&waiter);
            }
        }
    }
}

impl Worker<StackEngine> {
    /// Waits until something is so of which nobody tells this worker: it looks, and sleeps for a while only.
    fn look_until(&self, done: impl Fn() -> bool) {
        if self.stay_until(&done) {
            return;
        }
        self.tasks.thief.looks_by_itself(true);
        self.carry_some_until(HELP, done);
        self.tasks.thief.looks_by_itself(false);
    }
}

/// How many tasks of the youngest frame have not ended, at most, combinations left out: O(1).
fn waiting_at_most(scope_state: &ScopeState, frames: &Frames) -> u64 {
    if frames.is_drained() { 0 } else { scope_state.spawned_since(closure(frames.next()).header().order()) }
}

/// How many of them no thief has ended either: O(1), unless places in reference order are no tasks'.
fn waiting(scope_state: &ScopeState, frames: &Frames) -> u64 {
    if !scope_state.has_gaps() {
        return waiting_at_most(scope_state, frames).saturating_sub(scope_state.thefts());
    }
    let closures = link::closures(frames.cursor().0, frames.top());
    closures.filter(|&this| theft::state(this) != State::Done).count() as u64
}
