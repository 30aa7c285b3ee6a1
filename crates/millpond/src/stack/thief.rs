//! A worker as a thief: whom it asks, how often, and how it watches over the stacks while it sleeps.
//!
//! Who runs a stack tells nobody that there is something to steal: that would cost each task a fence. So thieves look again and
//! again, at growing intervals (this file), and who has slept is told as follows.
//!
//! - W1. A stack's owner, at its first step after it has entered the stack, or after the stack was empty (`guard`, FRESH):
//!   SeqCst fence; if somebody sleeps, it wakes one.
//! - W2. Who goes to sleep looks, after it was counted as a sleeper (`sleep`, S3), whether a stack is not empty. If so, and nobody
//!   is the *watchman*, it becomes that, by a compare-and-swap: it sleeps for a while only, and looks again.
//! - W3. The watchman that steals something no longer is one; then, behind a SeqCst fence, it wakes a sleeper if nobody watches,
//!   and the stack may have more. So does who steals and was none.
//! - W4. The watchman that has seen nothing change for a while, still counted as a sleeper, makes every stack FRESH again, calls
//!   for a barrier as a thief does (`guard`, T3), and looks once more. If nothing has changed still, it sleeps without end.
//!
//! Why a stack does not stay full while all sleep without end: it is not empty from some step on. That step was FRESH, and either
//! W1 sees the sleeper, or W2 sees the stack, since the two fences have an order. Somebody is awake, or watches, from then on: who
//! watches stops when it steals, and hands on by W3; when it turns to something else, and hands on (`end_watch`); or when all
//! stacks are empty. Who sleeps without end, since W2 has found a watchman, is seen by that one's W3: if not, then the fence of W3
//! is before that of S3, and W2 finds no watchman.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::Duration;

use super::frames::Frames;
use super::guard::Met;
use super::policy::Victims;
use super::{errand, walk};
use crate::clock;
use crate::depend::Scheme;
use crate::record::What;
use crate::runtime::engine::Engine;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::fence;
use crate::sync::barrier;
use crate::task::TaskRef;
use crate::worker::Worker;
use crate::worker::slack::OnTime;

#[cfg(all(test, loom))]
mod loom_tests;

/// The least time between two looks of a thief, in ticks of the clock (some 0.4 ns), and the longest, in which it is idle.
const BRIEFLY: u64 = 1 << 10;
const LONGEST: u64 = 1 << 15;

/// How long the watchman sleeps: a body that begins now, and takes long, gives away what is ready behind it at the end of that.
const NAP: Duration = Duration::from_micros(25);

/// After so many naps in which nothing has changed it lets the owner wake it (W4), some 5 µs of the owner's time after some
/// milliseconds.
const PATIENCE: u32 = 100;

/// Who looks by itself, of which no owner tells it, sleeps twice as long after so many; and so on, up to so long.
const MOST_NAPS: u32 = 128;

/// What a worker keeps as a thief.
#[derive(Debug)]
pub(crate) struct Thief {
    victims: RefCell<Victims>,
    /// Where there was something to steal last.
    last: Cell<Option<NonNull<Frames>>>,
    pub(super) seen: RefCell<walk::Seen>,
    /// When it looks again, and how long it has waited for that.
    next_look: Cell<u64>,
    pause: Cell<u64>,
    /// Since when nothing has changed, in naps.
    quiet: Cell<u32>,
    /// It waits for something of which nobody tells it.
    looks: Cell<bool>,
    /// There as long as it is the watchman.
    watches: RefCell<Option<OnTime>>,
}

impl Thief {
    pub(crate) fn new(seat: usize) -> Self {
        Thief {
            victims: RefCell::new(Victims::of_thief(seat)),
            last: Cell::new(None),
            seen: RefCell::default(),
            next_look: Cell::new(0),
            pause: Cell::new(BRIEFLY),
            quiet: Cell::new(0),
            looks: Cell::new(false),
            watches: RefCell::new(None),
        }
    }

    /// It waits for something of which nobody tells it, or no longer: it sleeps for a while only, whoever else watches.
    pub(super) fn looks_by_itself(&self, looks: bool) {
        self.looks.set(looks);
    }

    /// Whether it is time to look into a stack: always into one that nobody runs.
    fn is_due(&self, frames: &Frames, now: u64) -> bool {
        (now >= self.next_look.get() && frames.is_due(now)) || frames.guard().is_free()
    }

    /// What was looked for in vain, or stolen, was worth the time of its owner, or not: then it waits longer each time.
    pub(super) fn note(&self, worth: bool) {
        let pause = if worth { BRIEFLY } else { (self.pause.get() * 2).min(LONGEST) };
        self.pause.set(pause);
        self.next_look.set(if worth { 0 } else { clock::ticks() + pause });
    }
}

impl<E: Engine> Worker<E> {
    /// Steals the oldest ready closure of some stack, if it is time for a look: it is the next errand.
    #[cold]
    pub(crate) fn steal_closure(&self) -> bool {
        let (now, stacks) = (clock::ticks(), &self.shared().stacks);
        let count = stacks.count();
        if count == 0 {
            return false;
        }
        // The last number stands for nobody: a thief has no stack in the list that it must not steal from.
        let first = self.thief.victims.borrow_mut().pick(count + 1, count);
        // SAFETY: stacks live as long as the runtime.
        let last = self.thief.last.get().map(|frames| unsafe { frames.as_ref() });
        let mut victims = last.into_iter().chain(stacks.iter().skip(first)).chain(stacks.iter().take(first));
        let mut looked = false;
        let found = victims.any(|frames| {
            if !frames.may_have_work() || !frames.is_new() {
                return false;
            }
            self.thief.quiet.set(0);
            let looks = self.thief.is_due(frames, now);
            looked |= looks;
            looks && self.steal_from(frames)
        });
        if looked && !found {
            self.thief.note(false);
        }
        found
    }

    fn steal_from(&self, frames: &Frames) -> bool {
        let walk = || self.walk(frames);
        let Some(closure) = frames.guard().visit(walk) else { return false };
        self.thief.last.set(Some(frames.into()));
        self.errands.borrow_mut().push_back(errand::stolen(self, NonNull::from(frames), closure));
        self.count_steal();
        if self.log.is_on() {
            self.log.note(What::Stole);
        }
        // W3.
        self.stop_watching();
        fence(SeqCst);
        let shared = self.shared();
        if shared.sleep.sleepers() != 0 && !shared.stacks.are_watched() && frames.may_have_work() {
            shared.sleep.work_arrived();
        }
        true
    }

    fn walk(&self, frames: &Frames) -> Option<TaskRef> {
        walk::steal(frames, self.shared().config.steal_from, &mut self.thief.seen.borrow_mut())
    }

    /// The way was not clear for a stack's owner (`guard`, O3).
    #[cold]
    #[inline(never)]
    pub(super) fn meet(&self, frames: &Frames) {
        let walk = || self.walk(frames);
        if frames.guard().meet(walk) == Met::Nobody {
            // W1.
            self.shared().sleep.work_arrived();
        }
    }

    /// W2: how long a worker may sleep that has found nothing; without end, if that is none.
    pub(crate) fn watch(&self) -> Option<Duration> {
        if !E::Scheme::FRAMES || !self.shared().stacks.may_have_work() {
            self.stop_watching();
            return None;
        }
        let mut watches = self.thief.watches.borrow_mut();
        if watches.is_none() && self.shared().stacks.watch() {
            *watches = Some(OnTime::begin());
        }
        let quiet = self.thief.quiet.get();
        self.thief.quiet.set(quiet.saturating_add(1));
        if self.thief.looks.get() {
            return Some(NAP * (1 + quiet / PATIENCE).min(MOST_NAPS));
        }
        if watches.is_some() && quiet >= PATIENCE && self.may_rest() {
            drop(watches);
            self.stop_watching();
            return None;
        }
        watches.is_some().then_some(NAP)
    }

    /// W4: whether nothing can be stolen until an owner wakes somebody.
    fn may_rest(&self) -> bool {
        let stacks = &self.shared().stacks;
        let will_wake = stacks.iter().all(|frames| frames.guard().make_fresh());
        will_wake && {
            barrier::heavy();
            !stacks.iter().any(|frames| frames.may_have_work() && frames.is_new())
        }
    }

    /// It is awake. If it has watched until now, and turns to something else than what it has stolen, somebody else should look.
    pub(crate) fn end_watch(&self) {
        if self.stop_watching() && self.shared().stacks.may_have_work() {
            self.shared().sleep.work_arrived();
        }
    }

    /// It no longer watches; whether it did.
    fn stop_watching(&self) -> bool {
        let watched = self.thief.watches.take();
        if watched.is_some() {
            self.shared().stacks.stop_watching();
        }
        watched.is_some()
    }
}
