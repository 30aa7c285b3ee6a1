//! A worker as a thief: which stack it asks, how often, and how it watches the stacks while it
//! sleeps.
//!
//! An owner does not announce that its stack holds something to steal: that would cost a fence per
//! task. So thieves scan again and again, at growing intervals (this file). These rules wake
//! sleeping workers:
//!
//! - W1. An owner's *first step* is one that finds the word FRESH (`owner_lock`). It is the first
//!   step after the owner entered the stack, after the stack was empty, after a theft, or after W4.
//!   It is also the first step after a thief that found nothing during an inline subtree. At its
//!   first step, the owner issues a SeqCst fence, and then wakes a sleeping worker, if there is
//!   one.
//! - W2. A worker that goes to sleep first counts as a sleeper (`sleep`, S3), and then checks
//!   whether some stack is not empty. If so, and if there is no *sentinel*, it becomes the
//!   sentinel, by a compare-and-swap. The sentinel sleeps only for a while, and scans again.
//! - W3. Stealing a closure, finishing a stolen one, or ending a batch (`batches`) can make others
//!   ready without the owner noticing. A thread that did one of these issues a SeqCst fence. Then,
//!   if there is no sentinel and some stack may hold work, it wakes a sleeper. The sentinel does
//!   the same when it turns to other work. A sentinel gives up that role before the fence.
//! - W4. If the sentinel sees no change for a while, it gives up its role, still counted as a
//!   sleeper. Then it makes every stack FRESH, issues a barrier as a thief does (`owner_lock`, T3),
//!   and checks once more. If something has changed, it becomes the sentinel again, unless there is
//!   another. Otherwise it sleeps without a timeout.
//! - W5. If all stacks are empty, the sentinel gives up its role, and checks again behind a SeqCst
//!   fence. If they are still empty, it sleeps without a timeout, because the next step in an empty
//!   stack finds FRESH in any case.
//!
//! Why ready work does not stay unseen while some workers sleep without a timeout and the others
//! are busy: if there is a sentinel, it checks the stacks. Otherwise the last sentinel left by W3,
//! W4 or W5, or there never was one. Then one of these follows:
//!
//! - A step of an owner. The first step that finds the FRESH of W4, or of an empty stack, runs W1.
//!   If the fence of W1 comes before that of W4 or W5, or before S3 of a sleeper, that thread sees
//!   what the step did. Otherwise the owner wakes a sleeper, which finds no sentinel and becomes
//!   the sentinel. Everything before the step comes before the barrier of W4, which sees it. The
//!   new sentinel sees everything after the step.
//! - A theft, or its end. The same holds with the fence of W3. A thief that continues with the
//!   victim's stack enters it, which makes it FRESH.
//!
//! A scan that finds nothing records (cursor, top, changes). No thief scans this stack again until
//! one of them changes. The next closure may become ready without another sign, if an owner takes
//! it and leaves it again where it was (a parent, where only leaves may run: `room`). If the scan
//! saw it taken, the record says so.
//!
//! Under [`Theft::Paper`], a thief scans some stacks that it draws, and may miss the one that holds
//! work. The argument does not change: a thief that goes to sleep (W2) and the sentinel (W4, W5)
//! check all stacks.
//!
//! If W2 finds a sentinel, the worker sleeps without a timeout and relies on that sentinel. If the
//! fence of the sentinel's W3, W4 or W5 comes after S3, the sentinel sees what S3 has seen. If it
//! comes before S3, W2 finds no sentinel.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::time::Duration;

use super::policy::Victims;
use crate::clock;
use crate::record::What;
use crate::stack::StackEngine;
use crate::stack::layout::frames::Frames;
use crate::stack::thief::adaptive::StealPolicy;
use crate::stack::thief::owner_lock::{Met, Owner};
use crate::stack::thief::request::{Batch, Request};
use crate::stack::thief::{resume, scan};
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::fence;
use crate::sync::barrier;
use crate::worker::Worker;
use crate::worker::config::Theft;
use crate::worker::slack::OnTime;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

/// How long the sentinel sleeps. If a long body begins now, thieves get the ready closures behind
/// it after this time.
const NAP: Duration = Duration::from_micros(15);

/// After this many naps without a change, the sentinel relies on the owners to wake it (W4). This
/// costs the owners about 10 µs after a few milliseconds.
const NAPS_BEFORE_REST: u32 = 60;

/// A worker that waits for an unannounced event sleeps one [`NAP`] longer after each
/// [`NAPS_BEFORE_REST`] naps, up to this many.
const MAX_NAPS: u32 = 32;

/// Under [`Theft::Paper`], a thief draws one victim for each stack that there is, and at most this
/// many, before it checks whether something else has arrived. Finding a drawn stack in the list
/// takes O(stacks).
const MAX_DRAWS: usize = 16;

/// A worker's data as a thief.
#[derive(Debug)]
pub(crate) struct Thief {
    victims: RefCell<Victims>,
    /// The stack of its last theft.
    last: Cell<Option<NonNull<Frames>>>,
    steal_policy: RefCell<StealPolicy>,
    /// The time of its next scan.
    next_look: Cell<u64>,
    /// How often it went to sleep since the last change, or since it rested.
    quiet: Cell<u32>,
    /// Whether it waits for an unannounced event, and how often it napped since the last change.
    looks: Cell<bool>,
    naps: Cell<u32>,
    /// Set while it is the sentinel.
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

    /// Sets whether the worker waits for an unannounced event. If so, it sleeps only for a while,
    /// even if there is another sentinel.
    pub(in crate::stack) fn looks_by_itself(&self, looks: bool) {
        self.looks.set(looks);
        self.naps.set(0);
    }

    /// Draws one of the stacks in the list, each with the same probability.
    fn draw(&self, stacks: usize) -> usize {
        // The excluded number is no stack: a thief may steal from every stack in the list.
        self.victims.borrow_mut().pick(stacks + 1, stacks)
    }

    /// Whether the thief may scan a stack now. It may always scan a stack without an owner.
    fn is_due(&self, frames: &Frames, now: u64) -> bool {
        (now >= self.next_look.get() && frames.is_due(now)) || frames.owner_lock().is_free()
    }

    /// Records that a leaf stolen from `victim` has run for `took` ticks.
    pub(in crate::stack) fn has_run(&self, victim: &Frames, took: u64) {
        let worth = self.steal_policy.borrow_mut().has_run(took);
        self.note(worth);
        if !worth {
            // It was not worth its costs.
            victim.rest(scan::THEFT);
        }
    }

    /// Records whether a scan was worth the time of the stack's owner. If not, the thief waits
    /// longer each time.
    fn note(&self, worth: bool) {
        let pause = self.steal_policy.borrow_mut().pause_after(worth);
        self.next_look.set(clock::ticks() + pause);
    }
}

impl Worker<StackEngine> {
    /// Steals ready closures from some stack, if a scan is due. They become the next stack jobs.
    #[cold]
    pub(crate) fn steal_closure(&self) -> bool {
        let (now, stacks) = (clock::ticks(), &self.shared().tasks);
        let count = stacks.count();
        if count == 0 {
            return false;
        }
        let thief = &self.tasks.thief;
        let mut looked = false;
        let steals = |frames: &Frames| {
            if !frames.may_have_work() || !frames.is_new() {
                return false;
            }
            thief.quiet.set(0);
            thief.naps.set(0);
            let looks = thief.is_due(frames, now);
            looked |= looks;
            looks && self.steal_from(frames)
        };
        let found = match self.shared().config.theft {
            Theft::Chains => {
                let first = thief.draw(count);
                // SAFETY: stacks live as long as the runtime.
                let last = thief.last.get().map(|frames| unsafe { frames.as_ref() });
                last.into_iter().chain(stacks.iter().skip(first)).chain(stacks.iter().take(first)).any(steals)
            }
            Theft::Paper => {
                let mut victims = (0..count.min(MAX_DRAWS)).filter_map(|_| stacks.iter().nth(thief.draw(count)));
                victims.any(steals)
            }
        };
        if looked && !found {
            thief.note(false);
        }
        found
    }

    /// How many closures this worker takes at once, if the owner does not have to scan for them.
    pub(in crate::stack) fn closures_per_theft(&self) -> u64 {
        match self.shared().config.theft {
            Theft::Chains => self.tasks.thief.steal_policy.borrow().several(),
            Theft::Paper => 1,
        }
    }

    /// How many closures this worker asks an owner for.
    fn wish(&self) -> u64 {
        match self.shared().config.theft {
            Theft::Chains => self.tasks.thief.steal_policy.borrow().wish(),
            Theft::Paper => 1,
        }
    }

    fn steal_from(&self, frames: &Frames) -> bool {
        let (several, theft) = (self.closures_per_theft(), self.shared().config.theft);
        let batch = frames.owner_lock().visit(
            self.wish(),
            |owner| match (owner, theft) {
                (Owner::InABody, Theft::Chains) => self.scan(frames, Request::behind(several)),
                // The paper's thief also takes the owner's next closure.
                (Owner::InABody, Theft::Paper) | (Owner::None, _) => self.scan(frames, Request::first(several)),
            },
            || frames.inline_subtrees.goes_on(),
        );
        let Some(batch) = batch else { return false };
        self.count_theft();
        self.tasks.thief.last.set(Some(frames.into()));
        if self.log.is_on() {
            self.log.note(What::StoleClosures { closures: batch.count as u32 });
        }
        self.tasks.stack_jobs.borrow_mut().push_back(resume::stolen(self, NonNull::from(frames), batch));
        self.stop_watching();
        self.pass_look_on();
        true
    }

    /// W3: wakes a sleeper, if there is no sentinel.
    pub(in crate::stack) fn pass_look_on(&self) {
        fence(SeqCst);
        let shared = self.shared();
        if shared.sleep.sleepers() != 0 && !shared.tasks.are_watched() && shared.tasks.may_have_work() {
            shared.sleep.work_arrived();
        }
    }

    pub(in crate::stack) fn scan(&self, frames: &Frames, request: Request) -> Option<Batch> {
        scan::steal(frames, self.shared().config.steal_from, request)
    }

    /// The slow path of O3 (`owner_lock`): the word was not clear. If a thief asks, the owner gives
    /// it `request`.
    #[cold]
    #[inline(never)]
    pub(in crate::stack) fn meet(&self, frames: &Frames, request: fn(u64) -> Request) {
        // In the child of a fork there is no thief, and one may have locked the batches.
        let scan = |wish| if self.shared().is_forked() { None } else { self.scan(frames, request(wish)) };
        if frames.owner_lock().meet(scan) == Met::FirstStep {
            // W1.
            self.shared().sleep.work_arrived();
        }
    }

    /// How long a worker without work may sleep. `None` means without a timeout.
    pub(crate) fn watch(&self) -> Option<Duration> {
        let Thief { quiet, looks, naps, .. } = &self.tasks.thief;
        quiet.set(quiet.get().saturating_add(1));
        let is_empty = !self.shared().tasks.may_have_work();
        if !is_empty && !self.watches() {
            self.begin_watch();
        }
        let may_stop = is_empty || quiet.get() > NAPS_BEFORE_REST;
        if may_stop && self.stop_watching() {
            let may_rest = if is_empty { self.are_empty() } else { self.are_quiet() };
            if may_rest { quiet.set(0) } else { self.begin_watch() }
        }
        if looks.get() {
            naps.set(naps.get().saturating_add(1));
            return Some(NAP * (1 + naps.get() / NAPS_BEFORE_REST).min(MAX_NAPS));
        }
        self.watches().then_some(NAP)
    }

    /// W5: whether all stacks are empty, so that the next step of each owner wakes a sleeper.
    fn are_empty(&self) -> bool {
        fence(SeqCst);
        !self.shared().tasks.may_have_work()
    }

    /// W4: whether nothing can be stolen until an owner wakes a sleeper.
    fn are_quiet(&self) -> bool {
        let stacks = &self.shared().tasks;
        let will_wake = stacks.iter().all(|frames| frames.owner_lock().make_fresh());
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

    /// The worker is awake, and turns to work that it has not stolen. A sentinel wakes another
    /// worker by W3.
    pub(crate) fn end_watch(&self) {
        if self.stop_watching() {
            self.pass_look_on();
        }
    }

    /// Ends this worker's time as the sentinel. Returns whether it was the sentinel.
    fn stop_watching(&self) -> bool {
        let watched = self.tasks.thief.watches.take();
        if watched.is_some() {
            self.shared().tasks.stop_watching();
        }
        watched.is_some()
    }
}
