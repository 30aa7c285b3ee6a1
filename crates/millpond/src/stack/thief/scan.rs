//! A thief's look through a stack for closures that are ready (DDS §3): of none of these an access conflicts with one of an
//! earlier closure of the frame that is not finished.
//!
//! The links between accesses of one datum, which the paper's owner makes at each push, the thief makes here; what the
//! owner saves by that is measured in [decision 27]. Only closures of one frame conflict: what a frame's body may use, its
//! parent has declared, and that was ready.
//!
//! [decision 27]: ../../../../docs/decisions/0027-the-stack.md

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

use super::policy::{End, conflicts};
use super::theft::{self, State};
use crate::clock;
use crate::depend::Mode;
use crate::handle::Version;
use crate::memory::LINE;
use crate::stack::layout::frames::{Frame, Frames, Seen};
use crate::stack::layout::{link, out_of_line};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use crate::task::{Role, TaskRef};

#[cfg(all(test, not(loom)))]
mod tests;

/// The versions that earlier closures use, which were not finished when they were looked at, and how.
type Used = HashMap<NonNull<Version>, Mode, BuildHasherDefault<ByAddress>>;

/// Spreads addresses.
#[derive(Debug, Default)]
struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only addresses are hashed");
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64 >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// How many closures the first scan through a stack looks at, at most.
const REACH: u32 = 512;

/// So many closures a scan looks at in vain where the last one has ended, or as many as are wanted, before it begins from the start;
/// and behind what it has found itself. Less where debug assertions are on, since most programs of tests are small; optimized tests
/// have it as it is.
const FEW: u32 = if cfg!(debug_assertions) { 2 } else { 64 };

/// A scan from the start is followed by an eighth as many that go on where the last one has ended as it has looked at closures: in a
/// short frame by none. All of them together then look at no more than some ten closures each.
const EIGHTH: u32 = if cfg!(debug_assertions) { 1 } else { 8 };

/// The longest scan.
const LONGEST: u32 = 1 << 22;

/// After a scan in vain thieves leave the stack alone for so many times what that took: a stack's owner, who does the scan or
/// waits for it, loses a twentieth of its time at most. So they do after a theft that was not worth what it costs the owner.
const REST: u64 = 20;

/// What a theft costs a stack's owner, in ticks of the clock (some 0.4 ns): a scan, and a wait for what comes next and was stolen.
const THEFT: u64 = 1 << 12;

/// After so many ticks a body is long: more than all that a visit costs its worker.
const LONG: u64 = 1 << 15;

/// What is known of earlier scans through a stack. Changed by who scans it, but for the times: by whoever looks at the stack, or has
/// run what it stole there.
#[derive(Debug)]
pub(crate) struct Search {
    /// How many closures a scan looks at, at most: more and more, as long as there was nothing among so many.
    reach: AtomicU32,
    /// When thieves may come again, unless the owner is in a long body, and loses nothing.
    not_before: AtomicU64,
    /// What thieves have seen running, and since when.
    running: AtomicUsize,
    since: AtomicU64,
    /// What the stack looked like when a scan found nothing in all of it.
    cursor: AtomicUsize,
    top: AtomicUsize,
    changes: AtomicUsize,
    trail: RefCell<Trail>,
    /// That of a scan from the start.
    fresh: RefCell<Trail>,
}

/// A stack at a peek: while all three stay, there is nothing new to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peek {
    cursor: usize,
    top: usize,
    changes: usize,
}

impl Peek {
    fn of(next: *mut u8, taken: bool, top: *mut u8, changes: usize) -> Peek {
        Peek { cursor: next.addr() | usize::from(taken), top: top.addr(), changes }
    }
}

impl Default for Search {
    fn default() -> Self {
        let none = AtomicUsize::default;
        Search {
            reach: AtomicU32::new(REACH),
            not_before: AtomicU64::new(0),
            running: none(),
            since: AtomicU64::new(0),
            cursor: none(),
            top: none(),
            changes: none(),
            trail: RefCell::default(),
            fresh: RefCell::default(),
        }
    }
}

impl Search {
    /// Whether a scan may begin, a peek.
    fn is_due(&self, cursor: usize, now: u64) -> bool {
        if self.running.load(Relaxed) != cursor {
            self.running.store(cursor, Relaxed);
            self.since.store(now, Relaxed);
        }
        now >= self.not_before.load(Relaxed) || now.saturating_sub(self.since.load(Relaxed)) > LONG
    }

    /// The owner has lost so many ticks of the clock to a thief. Of two rests the one that lasts longer counts.
    fn rest(&self, now: u64, lost: u64) {
        self.not_before.fetch_max(now + REST * lost, Relaxed);
    }

    /// A scan has ended, which had `left` closures to go, through a stack that looked like this before.
    fn note(&self, before: Peek, began: u64, left: u32, found: bool) {
        let reach = self.reach.load(Relaxed);
        if found {
            return self.reach.store(((reach - left) * 2).clamp(REACH, LONGEST), Relaxed);
        }
        if left == 0 {
            self.reach.store((reach * 2).min(LONGEST), Relaxed);
        } else {
            self.cursor.store(before.cursor, Relaxed);
            self.top.store(before.top, Relaxed);
            self.changes.store(before.changes, Relaxed);
        }
        let now = clock::ticks();
        self.rest(now, now.saturating_sub(began));
    }
}

/// How far scans have come since one began from the start and found something. The next one goes on there, since closures that have
/// ended lie before it, perhaps thousands behind one that takes long.
#[derive(Debug, Default)]
struct Trail {
    /// Through the closures of which frame: after a frame was opened, closed or emptied the shape is another one.
    frame: Option<NonNull<Frame>>,
    shape: usize,
    /// The last closure that it has looked at.
    last: Option<TaskRef>,
    /// What closures up to that one use, or have used: who has ended meanwhile is not looked for.
    used: Used,
    /// How many more scans may go on here: what lies before it, and has become ready, is not passed over for long.
    more: u32,
}

impl Trail {
    fn begin(&mut self, frame: &Frame, shape: usize) {
        (self.frame, self.shape, self.last) = (Some(frame.into()), shape, None);
        self.used.clear();
    }

    /// Where it ends in a frame, of whose closures those from `at` to `end` have not ended, perhaps. Only if the first of these does
    /// not lie behind it: that one, which the stack's owner may run, has been seen then, and what comes behind it is there. Several
    /// combinations may have one place in reference order, so that nothing is known of two of them.
    fn end(&self, frame: &Frame, shape: usize, at: *mut u8, end: *mut u8) -> Option<*mut u8> {
        let is_here = self.frame == Some(frame.into()) && self.shape == shape;
        let last = self.last.filter(|_| is_here && self.more > 0)?;
        let first = link::closures(at, end).next()?;
        (first == last || first.header().order() < last.header().order()).then(|| link::behind(last))
    }
}

/// What a scan takes: ready closures that come soon one after the other; or, of twice as many, the second half.
#[derive(Debug)]
pub(crate) struct StolenTasks {
    /// How many closures at most, of one frame.
    most: usize,
    /// Of the youngest frame as many are left to the stack's owner, which comes to them next.
    spares: bool,
    in_youngest: bool,
    pub(in crate::stack) found: Vec<TaskRef>,
}

impl StolenTasks {
    /// Of a stack whose owner is in a body, or that nobody owns.
    pub(in crate::stack) fn first(most: u64) -> Self {
        StolenTasks { most: most as usize, spares: false, in_youngest: false, found: Vec::new() }
    }

    /// Of a stack whose owner goes on at once. One closure alone is the first one: no more is worth a look.
    pub(in crate::stack) fn ahead(most: u64) -> Self {
        StolenTasks { spares: most > 1, ..StolenTasks::first(most) }
    }

    fn spares_some(&self) -> bool {
        self.spares && self.in_youngest
    }

    /// How many ready closures it looks for.
    fn wanted(&self) -> usize {
        if self.spares_some() { 2 * self.most } else { self.most }
    }

    /// Whether there is enough: a parent alone is.
    fn is_full(&self) -> bool {
        let is_parent = |first: &TaskRef| out_of_line::itself(*first).header().role() != Role::Leaf;
        self.found.first().is_some_and(is_parent) || self.found.len() >= self.wanted()
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes what was found, but for what it spares.
    fn share_out(mut self) -> Option<StolenTasks> {
        if self.spares_some() {
            self.found.drain(..self.found.len() / 2);
        }
        self.found.iter().copied().for_each(theft::take);
        (!self.is_empty()).then_some(self)
    }
}

/// Takes closures that are ready and that nobody runs, as many as the stolen tasks wants, if there are any within reach: the first ones near by
/// where the last scan has ended, or else the first of all, beginning at the frame at one end; or the second half of those.
/// The caller is in the stack, by its guard.
pub(in crate::stack) fn steal(frames: &Frames, from: End, mut stolen_tasks: StolenTasks) -> Option<StolenTasks> {
    let (began, mut left) = (clock::ticks(), frames.search.reach.load(Relaxed));
    // Before the look: what changes in between makes what is noted useless, no more.
    let (shape, changes) = (frames.shape(), frames.changes());
    let now = frames.seen();
    look_for(frames, from, shape, now, &mut left, &mut stolen_tasks);
    // What this scan has seen, and nothing else: the owner may take what comes next while a thief scans, and leave it again.
    frames.search.note(Peek::of(now.next, now.taken, now.top, changes), began, left, !stolen_tasks.is_empty());
    stolen_tasks.share_out()
}

fn look_for(frames: &Frames, from: End, shape: usize, now: Seen, left: &mut u32, stolen_tasks: &mut StolenTasks) {
    let (mut trail, mut fresh) = (frames.search.trail.borrow_mut(), frames.search.fresh.borrow_mut());
    let mut ranges: Vec<_> = frames.ranges(now).collect();
    ranges.reverse();
    for nth in from.visits(ranges.len()) {
        let (frame, at, taken, end) = ranges[nth];
        stolen_tasks.in_youngest = nth + 1 == ranges.len();
        if let Some(at) = trail.end(frame, shape, at, end) {
            let most = FEW.max(stolen_tasks.wanted() as u32).min(*left);
            let mut few = most;
            look_through(at, false, end, &mut trail, &mut few, stolen_tasks);
            *left -= most - few;
            if !stolen_tasks.is_empty() {
                trail.more -= 1;
                return;
            }
        }
        let before = *left;
        fresh.begin(frame, shape);
        look_through(at, taken, end, &mut fresh, left, stolen_tasks);
        if !stolen_tasks.is_empty() {
            fresh.more = (before - *left) / EIGHTH;
            return std::mem::swap(&mut *trail, &mut *fresh);
        }
    }
}

/// Looks for ready closures from `at` to `end`; the first one runs, if it was `taken`.
fn look_through(
    at: *mut u8,
    taken: bool,
    end: *mut u8,
    trail: &mut Trail,
    left: &mut u32,
    stolen_tasks: &mut StolenTasks,
) {
    let mut misses = 0;
    for (nth, this) in link::closures(at, end).take(*left as usize).enumerate() {
        *left -= 1;
        let (state, task) = (theft::state(this), out_of_line::itself(this));
        if state != State::Done {
            let role = task.header().role();
            let may_be_taken = state == State::Untouched && !(taken && nth == 0) && role != Role::Combine;
            misses += 1;
            if may_be_taken && !conflicts_with(task, &trail.used) {
                // A parent is taken alone, since it may stand for all the work that there is.
                if !stolen_tasks.is_empty() && role != Role::Leaf {
                    return;
                }
                stolen_tasks.found.push(this);
                misses = 0;
            }
            note(task, &mut trail.used);
        }
        trail.last = Some(this);
        if !stolen_tasks.is_empty() && (misses > FEW || stolen_tasks.is_full()) {
            return;
        }
    }
}

/// The accesses of a task, in either of its forms.
pub(in crate::stack) fn accesses(task: TaskRef) -> impl Iterator<Item = (NonNull<Version>, Mode)> {
    let is_compact = task.header().is_compact();
    let records = || task.records().iter().map(|record| (record.version_at(), record.mode()));
    let whole = (!is_compact).then(records).into_iter().flatten();
    is_compact.then(|| task.compact_accesses()).into_iter().flatten().chain(whole)
}

fn conflicts_with(task: TaskRef, used: &Used) -> bool {
    accesses(task).any(|(version, mode)| used.get(&version).is_some_and(|&earlier| conflicts(earlier, mode)))
}

/// The accesses of a task that is not finished.
fn note(task: TaskRef, used: &mut Used) {
    for (version, mode) in accesses(task) {
        // Two modes on one datum: what comes later waits for one of them in any case.
        let noted = used.entry(version).or_insert(mode);
        if *noted != mode {
            *noted = Mode::Inout;
        }
    }
}

impl Frame {
    /// Of a frame that is not the youngest: the parent that runs, and where the closures end.
    fn around_parent(&self) -> (*mut u8, *mut u8) {
        (self.running.load(Relaxed).map_addr(|at| at & !1), self.last.load(Relaxed))
    }
}

impl Frames {
    /// Each frame's closures that have not come to an end when it was looked at, perhaps: from which one to where; of the
    /// youngest frame first.
    fn ranges(&self, now: Seen) -> impl Iterator<Item = (&Frame, *mut u8, bool, *mut u8)> {
        let mut frame = now.youngest;
        let mut is_youngest = true;
        std::iter::from_fn(move || {
            // SAFETY: null, or a frame, which is not written over while the caller is there.
            let this = unsafe { frame.as_ref() }?;
            frame = this.before;
            if std::mem::take(&mut is_youngest) {
                return Some((this, now.next, now.taken, now.top));
            }
            let (at, end) = this.around_parent();
            Some((this, at, true, end))
        })
    }

    /// Whether a closure that has not ended uses a version. Only for the owner. O(all accesses).
    pub(crate) fn uses(&self, version: NonNull<Version>) -> bool {
        let mut closures = self.ranges(self.seen()).flat_map(|(_frame, at, _taken, end)| link::closures(at, end));
        closures.any(|this| {
            theft::state(this) != State::Done
                && accesses(out_of_line::itself(this)).any(|(used, _mode)| used == version)
        })
    }

    fn peek(&self) -> Peek {
        let (next, taken) = self.cursor();
        Peek::of(next, taken, self.top_seen(), self.changes())
    }

    /// A theft was not worth its costs.
    pub(in crate::stack) fn rest(&self) {
        self.search.rest(clock::ticks(), THEFT);
    }

    /// Whether thieves may come, a peek.
    pub(in crate::stack) fn is_due(&self, now: u64) -> bool {
        self.search.is_due(self.peek().cursor, now)
    }

    /// Whether something has changed since a scan found nothing.
    pub(in crate::stack) fn is_new(&self) -> bool {
        let Search { cursor, top, changes, .. } = &self.search;
        let seen = Peek { cursor: cursor.load(Relaxed), top: top.load(Relaxed), changes: changes.load(Relaxed) };
        self.peek() != seen
    }

    /// Whether there is perhaps a closure that nobody runs.
    pub(crate) fn may_have_work(&self) -> bool {
        // Beside a leaf of more than a line there is nothing, perhaps.
        let is_empty = || {
            let (at, taken) = self.cursor();
            let above = self.top_seen().addr().wrapping_sub(at.addr());
            !self.holds_several() && above <= if taken { LINE } else { 0 }
        };
        self.at_one_moment(is_empty) != Some(true)
    }
}
