//! A thief's scan of a stack for ready closures (DDS §3). A closure is ready if none of its
//! accesses conflicts with one of an earlier, unfinished closure of the same frame.
//!
//! In the paper, the owner links the accesses of one datum at each push. Here the thief does that;
//! [decision 27] gives the reason. Only closures of one frame conflict, because a frame's body uses
//! only data that its parent declared, and the parent was ready.
//!
//! [decision 27]: ../../../../../docs/decisions/0027-the-stack.md

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

use super::policy::conflicts;
use super::request::{Batch, Choice, Request};
use super::theft::{self, State};
use crate::clock;
use crate::depend::Mode;
use crate::handle::Version;
use crate::memory::LINE;
use crate::stack::End;
use crate::stack::layout::frames::{Frame, Frames, Seen};
use crate::stack::layout::{link, out_of_line};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use crate::task::TaskRef;

#[cfg(all(test, not(loom)))]
mod tests;

/// The versions that earlier closures use, if these were unfinished when scanned, and their modes.
type Used = HashMap<NonNull<Version>, Mode, BuildHasherDefault<ByAddress>>;

/// A hash function for addresses.
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

/// The limit of the first scan of a stack, in closures. No later limit is smaller. An owner's own
/// scans have this limit.
const MIN_SCAN_CLOSURES: u32 = 512;

/// A scan that has found something ends after this many further closures that are not ready.
///
/// With debug assertions the number is smaller, because most test programs are small. Optimized
/// tests use the full number.
const MAX_MISSES: u32 = if cfg!(debug_assertions) { 2 } else { 64 };

/// A scan that resumes where the last one ended checks up to [`MAX_MISSES`] closures for each one
/// that it wants, and at most this many. If none is ready, it begins from the start. If a thief
/// wants several, their bodies take much longer than this scan.
const MAX_RESUMED_CLOSURES: u32 = 1024;

/// If a scan from the start checked `n` closures, `n` / 8 scans may resume where the last one
/// ended. If `n` is less than 8, none may. Over the scan and those behind it, a scan then checks
/// about ten closures on average.
const CLOSURES_PER_RESUME: u32 = if cfg!(debug_assertions) { 1 } else { 8 };

/// The largest limit of a scan, in closures.
const MAX_SCAN_CLOSURES: u32 = 1 << 22;

/// After a scan that finds nothing, thieves leave the stack alone for this many times its duration.
/// The owner does the scan or waits for it, so it loses at most a twentieth of its time. Thieves do
/// the same after a theft that was not worth its cost.
pub(in crate::stack) const REST: u64 = 20;

/// The cost of a theft to a stack's owner, in clock ticks (about 0.4 ns): a scan, and a wait for
/// the stolen closure.
pub(in crate::stack) const THEFT: u64 = 1 << 12;

/// After this many ticks a body is long: a visit costs its worker less.
const LONG: u64 = 1 << 15;

/// The record of earlier scans of a stack. Only a scan changes it, except for the times: these
/// change when any thief peeks at the stack, or has run a closure stolen from it.
#[derive(Debug)]
pub(crate) struct Search {
    /// The limit of a scan, in closures. It doubles if a scan reaches it and finds nothing.
    reach: AtomicU32,
    /// When thieves may come again. They may come earlier if the owner is in a long body, because
    /// it loses nothing then.
    not_before: AtomicU64,
    /// The cursor that thieves have seen, and since when.
    running: AtomicUsize,
    since: AtomicU64,
    /// The stack as it was when a scan of all of it found nothing.
    cursor: AtomicUsize,
    top: AtomicUsize,
    changes: AtomicUsize,
    trail: RefCell<Trail>,
    /// The trail of a scan from the start.
    fresh: RefCell<Trail>,
}

/// A stack at a peek. While all three values stay the same, there is nothing new to steal.
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
            reach: AtomicU32::new(MIN_SCAN_CLOSURES),
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
    /// Whether a scan may begin: a peek.
    fn is_due(&self, cursor: usize, now: u64) -> bool {
        if self.running.load(Relaxed) != cursor {
            self.running.store(cursor, Relaxed);
            self.since.store(now, Relaxed);
        }
        now >= self.not_before.load(Relaxed) || now.saturating_sub(self.since.load(Relaxed)) > LONG
    }

    /// Records that the owner has lost `lost` ticks to a thief. Of two rests, the longer one
    /// counts.
    fn rest(&self, now: u64, lost: u64) {
        self.not_before.fetch_max(now + REST * lost, Relaxed);
    }

    /// Records the end of a scan that had `left` closures to go. `before` is the stack as the scan
    /// saw it.
    fn note(&self, before: Peek, began: u64, left: u32, found: bool) {
        let reach = self.reach.load(Relaxed);
        if found {
            return self.reach.store(((reach - left) * 2).clamp(MIN_SCAN_CLOSURES, MAX_SCAN_CLOSURES), Relaxed);
        }
        if left == 0 {
            self.reach.store((reach * 2).min(MAX_SCAN_CLOSURES), Relaxed);
        } else {
            self.cursor.store(before.cursor, Relaxed);
            self.top.store(before.top, Relaxed);
            self.changes.store(before.changes, Relaxed);
        }
        let now = clock::ticks();
        self.rest(now, now.saturating_sub(began));
    }
}

/// How far scans have come since one began from the start and found something. The next scan
/// resumes there. Otherwise it would first pass closures that have ended, perhaps thousands after a
/// long one.
#[derive(Debug, Default)]
struct Trail {
    /// The frame whose closures the trail covers. If a frame was opened, closed or emptied, the
    /// shape is a different one.
    frame: Option<NonNull<Frame>>,
    shape: usize,
    /// The last closure that it has checked.
    last: Option<TaskRef>,
    /// The versions that closures up to that one use, or have used. Ended closures are not removed.
    used: Used,
    /// How many more scans may resume here. The limit keeps scans from missing for long a closure
    /// before this place that has become ready.
    more: u32,
}

impl Trail {
    fn begin(&mut self, frame: &Frame, shape: usize) {
        (self.frame, self.shape, self.last) = (Some(frame.into()), shape, None);
        self.used.clear();
    }

    /// Where the trail ends, if a scan may resume there in this frame. The frame's closures from
    /// `at` to `end` may be unfinished. If the first of them comes after the trail's last closure,
    /// there is no such place. Otherwise scans have seen the first one, which the owner may run,
    /// and the closures behind it are still there. Combine tasks may share a place in reference
    /// order, so equal places of two tasks prove nothing.
    fn end(&self, frame: &Frame, shape: usize, at: *mut u8, end: *mut u8) -> Option<*mut u8> {
        let is_here = self.frame == Some(frame.into()) && self.shape == shape;
        let last = self.last.filter(|_| is_here && self.more > 0)?;
        let first = link::closures(at, end).next()?;
        (first == last || first.header().order() < last.header().order()).then(|| link::behind(last))
    }
}

/// Takes closures that no worker runs, as many as the request wants, within the limit of the scan.
/// It visits the frames from the end `from` on. In the frame where the last scan ended, it first
/// resumes there. If that finds nothing, and in other frames, it begins with the first closure.
///
/// The caller holds the stack's owner lock.
pub(in crate::stack) fn steal(frames: &Frames, from: End, mut request: Request) -> Option<Batch> {
    let (began, reach) = (clock::ticks(), frames.search.reach.load(Relaxed));
    let reach = if request.is_by_owner() { reach.min(MIN_SCAN_CLOSURES) } else { reach };
    // Read before the scan. If something changes in between, the record is useless, but not wrong.
    let (shape, changes) = (frames.shape(), frames.changes());
    let (now, mut left) = (frames.seen(), reach);
    let mut scan = Scan { frames, shape, now, resumes: true };
    scan.look_for(from, &mut left, &mut request);
    while request.found.is_empty() && request.asks_for_less() {
        (scan.resumes, left) = (false, reach);
        scan.look_for(from, &mut left, &mut request);
    }
    // An owner's scan has not seen what others may take. Others record what this scan has seen, and
    // nothing else. While a thief scans, the owner may take the next closure and leave it again.
    if !request.is_by_owner() {
        let peek = Peek::of(now.next, now.taken, now.top, changes);
        frames.search.note(peek, began, left, !request.found.is_empty());
    }
    request.take(frames)
}

/// A scan of a stack.
struct Scan<'a> {
    frames: &'a Frames,
    shape: usize,
    now: Seen,
    /// Whether it may resume where the last one ended.
    resumes: bool,
}

impl Scan<'_> {
    fn look_for(&self, from: End, left: &mut u32, request: &mut Request) {
        let Scan { frames, shape, now, resumes } = *self;
        let (mut trail, mut fresh) = (frames.search.trail.borrow_mut(), frames.search.fresh.borrow_mut());
        let mut ranges: Vec<_> = frames.ranges(now).collect();
        ranges.reverse();
        for nth in from.visits(ranges.len()) {
            let (frame, at, taken, end) = ranges[nth];
            request.in_youngest = nth + 1 == ranges.len();
            if request.is_by_owner() && !request.in_youngest {
                continue;
            }
            if request.in_youngest {
                let next = link::closures(at, end).next();
                request.begins_at = next.map_or(0, |next| next.header().order() + 2 * request.most as u64);
            }
            if let Some(at) = trail.end(frame, shape, at, end).filter(|_| resumes) {
                let most = MAX_MISSES.saturating_mul(request.wanted() as u32).min(MAX_RESUMED_CLOSURES).min(*left);
                let mut few = most;
                look_through((at, false, end), &mut trail, &mut few, request, true);
                *left -= most - few;
                if !request.found.is_empty() {
                    trail.more -= 1;
                    return;
                }
            }
            let before = *left;
            if request.in_youngest {
                // The resumed part has seen some of the same closures.
                request.spared = 0;
            }
            fresh.begin(frame, shape);
            look_through((at, taken, end), &mut fresh, left, request, false);
            if !request.found.is_empty() {
                fresh.more = (before - *left) / CLOSURES_PER_RESUME;
                return std::mem::swap(&mut *trail, &mut *fresh);
            }
        }
    }
}

/// Searches for closures to take from `at` to `end`. If `taken`, the first one already runs.
///
/// It takes a closure that conflicts with none but those that it has taken before. The thief runs
/// these first.
fn look_through(
    (at, taken, end): (*mut u8, bool, *mut u8),
    trail: &mut Trail,
    left: &mut u32,
    request: &mut Request,
    resumed: bool,
) {
    let mut misses = 0;
    for (nth, this) in link::closures(at, end).take(*left as usize).enumerate() {
        *left -= 1;
        let (state, task) = (theft::state(this), out_of_line::itself(this));
        if state != State::Done {
            let role = task.header().role();
            let may_be_taken = matches!(state, State::Untouched | State::Reserved) && !(taken && nth == 0);
            let is_ready = may_be_taken && request.admits(role) && !conflicts_with(task, &trail.used);
            let choice = if is_ready { request.choose(role, this.header().order(), state) } else { Choice::Leave };
            match choice {
                Choice::Take => {
                    request.found.push(this);
                    misses = 0;
                }
                Choice::Spare => {
                    misses = 0;
                    note(task, &mut trail.used);
                }
                Choice::Leave => {
                    misses += 1;
                    note(task, &mut trail.used);
                }
                Choice::End => break,
            }
        }
        trail.last = Some(this);
        let is_far = misses > MAX_MISSES && (resumed || request.has_some());
        if is_far || request.is_full(out_of_line::itself) {
            break;
        }
    }
    // For later scans.
    request.found.iter().for_each(|&taken| note(out_of_line::itself(taken), &mut trail.used));
}

/// The accesses of a task, compact or not.
pub(in crate::stack) fn accesses(task: TaskRef) -> impl Iterator<Item = (NonNull<Version>, Mode)> {
    let is_compact = task.header().is_compact();
    let records = || task.records().iter().map(|record| (record.version_at(), record.mode()));
    let whole = (!is_compact).then(records).into_iter().flatten();
    is_compact.then(|| task.compact_accesses()).into_iter().flatten().chain(whole)
}

fn conflicts_with(task: TaskRef, used: &Used) -> bool {
    accesses(task).any(|(version, mode)| used.get(&version).is_some_and(|&earlier| conflicts(earlier, mode)))
}

/// Adds the accesses of an unfinished task to `used`.
fn note(task: TaskRef, used: &mut Used) {
    for (version, mode) in accesses(task) {
        // Two modes on one datum: a later access waits for one of them anyway.
        let noted = used.entry(version).or_insert(mode);
        if *noted != mode {
            *noted = Mode::Inout;
        }
    }
}

impl Frame {
    /// For a frame that is not the youngest: the parent that runs, and where the closures end.
    fn around_parent(&self) -> (*mut u8, *mut u8) {
        (self.running.load(Relaxed).map_addr(|at| at & !1), self.last.load(Relaxed))
    }
}

impl Frames {
    /// The range of each frame's closures that may be unfinished: its start, whether the first
    /// closure is taken, and its end. The youngest frame comes first.
    fn ranges(&self, now: Seen) -> impl Iterator<Item = (&Frame, *mut u8, bool, *mut u8)> {
        let mut frame = now.youngest;
        let mut is_youngest = true;
        std::iter::from_fn(move || {
            // SAFETY: null, or a frame, which the owner does not overwrite while the caller is
            // there.
            let this = unsafe { frame.as_ref() }?;
            frame = this.before;
            if std::mem::take(&mut is_youngest) {
                return Some((this, now.next, now.taken, now.top));
            }
            let (at, end) = this.around_parent();
            Some((this, at, true, end))
        })
    }

    /// Whether an unfinished closure uses a version. Only the owner may call this. O(all accesses).
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

    /// Thieves leave the stack alone for twenty times this many ticks, unless its owner is in a
    /// long body.
    pub(in crate::stack) fn rest(&self, ticks: u64) {
        self.search.rest(clock::ticks(), ticks);
    }

    /// Thieves may come again: the stack gets other tasks.
    pub(in crate::stack) fn end_rest(&self) {
        self.search.not_before.store(0, Relaxed);
    }

    /// Whether thieves may come: a peek.
    pub(in crate::stack) fn is_due(&self, now: u64) -> bool {
        self.search.is_due(self.peek().cursor, now)
    }

    /// Whether the stack has changed since a scan found nothing.
    pub(in crate::stack) fn is_new(&self) -> bool {
        let Search { cursor, top, changes, .. } = &self.search;
        let seen = Peek { cursor: cursor.load(Relaxed), top: top.load(Relaxed), changes: changes.load(Relaxed) };
        self.peek() != seen
    }

    /// Whether the stack may hold a closure that no worker runs.
    pub(crate) fn may_have_work(&self) -> bool {
        // If the running leaf takes more than a line, the answer is true even if nothing else is
        // there.
        let is_empty = || {
            let (at, taken) = self.cursor();
            let above = self.top_seen().addr().wrapping_sub(at.addr());
            !self.holds_several() && above <= if taken { LINE } else { 0 }
        };
        self.at_one_moment(is_empty) != Some(true)
    }
}
