//! A worker as a thief: whom it asks, how often, and how it watches over the stacks while it sleeps.
//!
//! Who runs a stack tells nobody that there is something to steal: that would cost each task a fence. So thieves look again and
//! again, at growing intervals (this file), and who has slept is told as follows.
//!
//! - W1. A stack's owner, at its first step after it has entered the stack, after the stack was empty, after a theft, after a thief
//!   that found nothing while an episode went on, or after W4 (`guard`, FRESH): SeqCst fence; if somebody sleeps, it wakes one.
//! - W2. Who goes to sleep looks, after it was counted as a sleeper (`sleep`, S3), whether a stack is not empty. If so, and nobody
//!   is the *sentinel*, it becomes that, by a compare-and-swap: it sleeps for a while only, and looks again.
//! - W3. Who has stolen something, and who ends it, which makes others ready and tells no owner, wakes a sleeper behind a SeqCst
//!   fence, if nobody watches and some stack may have more. So does the sentinel that turns to something else. If it was the
//!   sentinel, it is none any more before that.
//! - W4. The sentinel that has seen nothing change for a while, still counted as a sleeper, no longer is one; then makes every
//!   stack FRESH, calls for a barrier as a thief does (`guard`, T3), and looks once more. If something has changed, it is the
//!   sentinel again, unless somebody else is. Else it sleeps without end.
//! - W5. So does the sentinel that sees all stacks empty, behind a SeqCst fence: there the next step is FRESH in any case.
//!
//! Why nothing that has become ready stays unseen while some sleep without end and the others are busy. While somebody watches, it
//! looks. Else the last one that did has left by W3, or by W4 or W5, or nobody ever did; and what happens then is
//!
//! - a step of an owner. The first one that finds the word of W4, or of an empty stack, comes with W1: if its fence is before that of
//!   W4, W5, or of the S3 of who sleeps, then these see what it did; else it wakes a sleeper, who sees that nobody watches, and
//!   watches. What comes before that step is before the barrier of W4, which sees it. What comes after it is watched.
//! - a theft, or its end: the same holds with the fence of W3. Who goes on with a stack that it has stolen from enters it: FRESH.
//!
//! A scan that finds nothing notes the stack as it has seen it, and nobody scans again before that looks otherwise. What comes next may
//! be ready without another sign: an owner takes it, and leaves it again where it was (a parent, where only leaves may run: `room`). If
//! that was seen taken, that is what the note says.
//!
//! Who sleeps without end since W2 has found a sentinel relies on that one: the fence of its W3, W4 or W5 comes after that of S3,
//! and it sees what S3 has seen; or before, and W2 finds no sentinel.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::Duration;

use super::policy::Victims;
use crate::clock;
use crate::record::What;
use crate::stack::StackEngine;
use crate::stack::layout::frames::Frames;
use crate::stack::thief::adaptive::StealPolicy;
use crate::stack::thief::owner_lock::Met;
use crate::stack::thief::scan::StolenTasks;
use crate::stack::thief::{resume, scan};
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::fence;
use crate::sync::barrier;
use crate::worker::Worker;
use crate::worker::slack::OnTime;

#[cfg(all(test, loom))]
mod loom_tests;

/// How long the sentinel sleeps: a body that begins now, and takes long, gives away what is ready behind it at the end of that.
const NAP: Duration = Duration::from_micros(15);

/// After so many naps in which nothing has changed it lets the owners wake it (W4): some 10 µs of their time after some
/// milliseconds.
const PATIENCE: u32 = 60;

/// Who waits for something of which nobody tells it sleeps for a nap more after each [`PATIENCE`] of them, up to so many.
const MOST_NAPS: u32 = 32;

/// What a worker keeps as a thief.
#[derive(Debug)]
pub(crate) struct Thief {
    victims: RefCell<Victims>,
    /// Where there was something to steal last.
    last: Cell<Option<NonNull<Frames>>>,
    steal_policy: RefCell<StealPolicy>,
    /// When it looks again.
    next_look: Cell<u64>,
    /// How often it has gone to sleep since something has changed, or it has rested.
    quiet: Cell<u32>,
    /// It waits for something of which nobody tells it; and how often it has napped since something has changed.
    looks: Cell<bool>,
    naps: Cell<u32>,
    /// There as long as it is the sentinel.
    watches: RefCell<Option<OnTime>>,
}

impl Thief {
    pub(crate) fn new(seat: usize) -> Self {
        Thief {
            victims: RefCell::new(Victims::of_thief(seat)),
            last: Cell::new(None),
            steal_policy: RefCell::default(),
            next_look: Cell::new(0),
            quiet: Cell::new(0),
            looks: Cell::new(false),
            naps: Cell::new(0),
            watches: RefCell::new(None),
        }
    }

    /// It waits for something of which nobody tells it, or no longer: it sleeps for a while only, whoever else watches.
    pub(in crate::stack) fn looks_by_itself(&self, looks: bool) {
        self.looks.set(looks);
        self.naps.set(0);
    }

    /// Whether it is time to look into a stack: always into one that nobody runs.
    fn is_due(&self, frames: &Frames, now: u64) -> bool {
        (now >= self.next_look.get() && frames.is_due(now)) || frames.guard().is_free()
    }

    /// A leaf that it has stolen from a stack has run, for so many ticks.
    pub(in crate::stack) fn has_run(&self, victim: &Frames, took: u64) {
        let worth = self.steal_policy.borrow_mut().has_run(took);
        self.note(worth);
        if !worth {
            victim.rest();
        }
    }

    /// A look was worth the time of a stack's owner, or not: then it waits longer each time.
    fn note(&self, worth: bool) {
        let pause = self.steal_policy.borrow_mut().pause_after(worth);
        self.next_look.set(clock::ticks() + pause);
    }
}

impl Worker<StackEngine> {
    /// Steals from some stack what is ready there, if it is time for a look: the next stack jobs.
    #[cold]
    pub(crate) fn steal_closure(&self) -> bool {
        let (now, stacks) = (clock::ticks(), &self.shared().tasks);
        let count = stacks.count();
        if count == 0 {
            return false;
        }
        // The last number stands for nobody: a thief has no stack in the list that it must not steal from.
        let first = self.tasks.thief.victims.borrow_mut().pick(count + 1, count);
        // SAFETY: stacks live as long as the runtime.
        let last = self.tasks.thief.last.get().map(|frames| unsafe { frames.as_ref() });
        let mut victims = last.into_iter().chain(stacks.iter().skip(first)).chain(stacks.iter().take(first));
        let mut looked = false;
        let found = victims.any(|frames| {
            if !frames.may_have_work() || !frames.is_new() {
                return false;
            }
            self.tasks.thief.quiet.set(0);
            self.tasks.thief.naps.set(0);
            let looks = self.tasks.thief.is_due(frames, now);
            looked |= looks;
            looks && self.steal_from(frames)
        });
        if looked && !found {
            self.tasks.thief.note(false);
        }
        found
    }

    fn steal_from(&self, frames: &Frames) -> bool {
        let (wish, several) = {
            let steal_policy = self.tasks.thief.steal_policy.borrow();
            (steal_policy.wish(), steal_policy.several())
        };
        let stolen_tasks = frames.guard().visit(
            wish,
            || self.scan(frames, StolenTasks::first(several)),
            || frames.inline_subtrees.goes_on(),
        );
        let Some(StolenTasks { mut found, .. }) = stolen_tasks else { return false };
        self.tasks.thief.last.set(Some(frames.into()));
        if self.log.is_on() {
            self.log.note(What::Looted { closures: found.len() as u32 });
        }
        // The first one comes next; who takes the others from the pool takes what was put last.
        found[1..].reverse();
        for closure in found {
            self.tasks.stack_jobs.borrow_mut().push_back(resume::stolen(self, NonNull::from(frames), closure));
            self.count_steal();
        }
        self.stop_watching();
        self.pass_look_on();
        true
    }

    /// W3: somebody else should look, if nobody does.
    pub(in crate::stack) fn pass_look_on(&self) {
        fence(SeqCst);
        let shared = self.shared();
        if shared.sleep.sleepers() != 0 && !shared.tasks.are_watched() && shared.tasks.may_have_work() {
            shared.sleep.work_arrived();
        }
    }

    fn scan(&self, frames: &Frames, stolen_tasks: StolenTasks) -> Option<StolenTasks> {
        scan::steal(frames, self.shared().config.steal_from, stolen_tasks)
    }

    /// The way was not clear for a stack's owner (`guard`, O3), which gives away such stolen tasks.
    #[cold]
    #[inline(never)]
    pub(in crate::stack) fn meet(&self, frames: &Frames, stolen_tasks: fn(u64) -> StolenTasks) {
        let scan = |wish| self.scan(frames, stolen_tasks(wish));
        if frames.guard().meet(scan) == Met::NoOwner {
            // W1.
            self.shared().sleep.work_arrived();
        }
    }

    /// How long a worker may sleep that has found nothing; without end, if that is none.
    pub(crate) fn watch(&self) -> Option<Duration> {
        let Thief { quiet, looks, naps, .. } = &self.tasks.thief;
        quiet.set(quiet.get().saturating_add(1));
        let is_empty = !self.shared().tasks.may_have_work();
        if !is_empty && !self.watches() {
            self.begin_watch();
        }
        let may_stop = is_empty || quiet.get() > PATIENCE;
        if may_stop && self.stop_watching() {
            let may_rest = if is_empty { self.are_empty() } else { self.are_quiet() };
            if may_rest { quiet.set(0) } else { self.begin_watch() }
        }
        if looks.get() {
            naps.set(naps.get().saturating_add(1));
            return Some(NAP * (1 + naps.get() / PATIENCE).min(MOST_NAPS));
        }
        self.watches().then_some(NAP)
    }

    /// W5: whether the next step of each owner wakes somebody, since there is nothing.
    fn are_empty(&self) -> bool {
        fence(SeqCst);
        !self.shared().tasks.may_have_work()
    }

    /// W4: whether nothing can be stolen until somebody is woken.
    fn are_quiet(&self) -> bool {
        let stacks = &self.shared().tasks;
        let will_wake = stacks.iter().all(|frames| frames.guard().make_fresh());
        will_wake && {
            barrier::heavy();
            !stacks.iter().any(|frames| frames.may_have_work() && frames.is_new())
        }
    }

    /// W2.
    fn begin_watch(&self) {
        if self.shared().tasks.watch() {
            self.tasks.thief.watches.replace(Some(OnTime::begin()));
        }
    }

    fn watches(&self) -> bool {
        self.tasks.thief.watches.borrow().is_some()
    }

    /// It is awake. If it has watched until now, and turns to something else than what it has stolen, somebody else should look.
    pub(crate) fn end_watch(&self) {
        if self.stop_watching() {
            self.pass_look_on();
        }
    }

    /// It no longer watches; whether it did.
    fn stop_watching(&self) -> bool {
        let watched = self.tasks.thief.watches.take();
        if watched.is_some() {
            self.shared().tasks.stop_watching();
        }
        watched.is_some()
    }
}
