//! Parallel loops: a body for each item of a range or a slice.
//!
//! [`for_each`] runs such a loop in any body and in the closure of a scope.
//! [`Spawn::for_each`](crate::Spawn::for_each) spawns a loop as one task with declared data. In a
//! loop of [`Acc::for_each`](crate::Acc::for_each), items add to a datum. A body of
//! [`try_for_each`] may fail. This module has what a loop runs over ([`Items`]).
//!
//! ```
//! use millpond::{Runtime, each, for_each};
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let (mut image, gains) = (vec![1.0_f32; 640 * 480], vec![0.5_f32; 480]);
//! rt.scope(|_| {
//!     // A row and its gain.
//!     for_each(each::zip(each::chunks_mut(&mut image, 640), &gains), |(row, gain)| {
//!         row.iter_mut().for_each(|pixel| *pixel *= gain);
//!     });
//! })?;
//! assert!(image.iter().all(|pixel| *pixel == 0.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a loop is shared
//!
//! The caller runs items one after the other, in batches. Between two batches it reads the clock,
//! and estimates the time of the rest. If the rest is long enough and another worker is idle, the
//! caller shares it. It forks a helper, and both claim pieces of the rest until nothing is left.
//! The caller claims at the front, helpers at the back. A helper does the same, so idle workers
//! join one after the other, at any time.
//!
//! A piece takes about 20 µs, and less towards the end. If a piece takes much longer than expected,
//! its thread shares the rest of the piece in the same way.
//!
//! | the rest takes | another worker | the caller |
//! |---|---|---|
//! | less than 3 µs | any | continues alone |
//! | longer | looks for work | shares the rest |
//! | longer than 60 µs | sleeps | shares the rest, and wakes a worker |
//! | less | sleeps | continues alone, until such loops have taken 100 µs in a row |
//!
//! If the other processors are busy, helpers do not come. Then the caller offers short loops only
//! now and then, and wakes other workers less and less often.

use std::mem;
use std::ops::Range;
use std::panic::Location;

use crate::clock::{ns_per_tick, ticks};
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::Relaxed;
use crate::worker::current;
use crate::worker::fork::Joiner;
use crate::worker::forks::{CallSite, Others};
use crate::worker::loops::Loops;

mod adding;
mod body;
mod declared;
mod items;
mod rest;
mod share;
mod trying;

use self::body::{Body, Plain};
pub use declared::{InChunks, ItemsOf};
pub use items::{Chunks, ChunksMut, Items, Shared, Zip};
#[doc(hidden)]
pub use items::{SliceMut, Source, With};
pub use trying::try_for_each;

/// A rest that takes less is not shared: forking and waiting take about 1 µs.
const MIN_SHARED_NS: f64 = 3_000.0;
/// A rest that takes this long is worth a wake-up. The waker spends up to 5 µs, and the woken
/// worker begins about 40 µs later.
const MIN_WOKEN_NS: f64 = 60_000.0;
/// A rest that takes this long is worth a wake-up in any case.
const ALWAYS_WOKEN_NS: f64 = 1e6;
/// After loops have run alone for this long, the next one wakes a worker. If more loops follow,
/// they find it awake.
const MAX_ALONE_NS: f64 = 100_000.0;
/// A shorter rest needs no reading of the clock.
const SHORT_NS: f64 = 1_000.0;
/// A loop known to be shorter runs mostly without reading the clock.
const TINY_NS: f64 = 3_000.0;
/// When the caller first decides. Shorter times say little, because the first items wait for
/// memory.
const FIRST_LOOK_NS: f64 = 500.0;
/// The longest time between two readings of the clock, as far as it can be foreseen.
const BATCH_NS: f64 = 10_000.0;
/// A batch has at most this many times the items of the batch before.
const GROWTH: usize = 8;
/// With fewer items, the time of the first one counts. Then a loop that was shared before is shared
/// at once.
const FEW_ITEMS_PER_WORKER: usize = 16;

/// Runs `body` for each item, in parallel if another worker is free and the loop takes long enough.
///
/// Called from a task or a scope's closure, it uses that runtime's workers. Called from elsewhere,
/// it is a plain loop. Items run in any order. It returns when all items have run.
///
/// ```
/// use millpond::{Runtime, for_each};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let mut squares = vec![0_u64; 100_000];
/// rt.scope(|_| {
///     for_each(millpond::each::indexed(&mut squares), |(i, square)| *square = (i * i) as u64);
/// })?;
/// assert_eq!(squares[99_999], 9_999_800_001);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The runtime decides how the loop is split, while it runs (see [`each`](self)). So there is no
/// size to tune. Sharing a loop costs about 1 µs. A loop of less than 3 µs costs a few nanoseconds
/// more than a plain one, or a few tens when it is new. The loop allocates nothing.
///
/// To add to a datum from all items, declare it by [`accumulate`](crate::Handle::accumulate) and
/// call [`Acc::for_each`](crate::Acc::for_each). A [`join`](crate::join) returns values. If the
/// body may fail, call [`try_for_each`].
///
/// # Nesting, waiting, cancellation
///
/// Items can contain loops, joins and scopes. A worker that waits for the last items of a loop runs
/// nothing else. So the caller may hold a lock over the loop, as over a join. Cancelling a scope
/// does not stop a running loop, because it is a running body.
///
/// # Panics
///
/// If `body` panics. The panic, or one of several, is passed on after all threads have left the
/// loop. Most items that had not begun do not run.
#[inline]
#[track_caller]
pub fn for_each<I, F>(items: I, body: F)
where
    I: Items,
    F: Fn(I::Item) + Sync,
{
    run(items, body, Location::caller());
}

/// The chunks of a slice: each has `size` elements, the last one perhaps fewer.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use millpond::{each, for_each};
///
/// let (numbers, sum) = ((0..1000).collect::<Vec<u64>>(), AtomicU64::new(0));
/// for_each(each::chunks(&numbers, 64), |chunk| {
///     sum.fetch_add(chunk.iter().sum(), Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
///
/// # Panics
///
/// If `size` is 0.
#[track_caller]
pub fn chunks<T>(slice: &[T], size: usize) -> Chunks<'_, T> {
    Chunks::new(slice, size)
}

/// The mutable chunks of a slice: each has `size` elements, the last one perhaps fewer.
///
/// ```
/// use millpond::{each, for_each};
///
/// let mut numbers = [3, 1, 2, 9, 8, 7, 5];
/// for_each(each::chunks_mut(&mut numbers, 3), |chunk| chunk.sort());
/// assert_eq!(numbers, [1, 2, 3, 7, 8, 9, 5]);
/// ```
///
/// # Panics
///
/// If `size` is 0.
#[track_caller]
pub fn chunks_mut<T>(slice: &mut [T], size: usize) -> ChunksMut<'_, T> {
    ChunksMut::new(slice, size)
}

/// Two sources side by side: the items with the same number. It ends with the shorter source.
///
/// ```
/// use millpond::{each, for_each};
///
/// let (mut y, x) = (vec![1.0; 100], vec![2.0; 100]);
/// for_each(each::zip(&mut y, &x), |(y, x)| *y += 3.0 * x);
/// assert_eq!(y, [7.0; 100]);
/// ```
///
/// It also pairs declared data; see [`Spawn::for_each`](crate::Spawn::for_each).
pub fn zip<A, B>(a: A, b: B) -> Zip<A, B> {
    Zip { a, b }
}

/// Each item with its index.
///
/// ```
/// use millpond::{each, for_each};
///
/// let mut rows = vec![0; 12];
/// for_each(each::indexed(each::chunks_mut(&mut rows, 4)), |(i, row)| row.fill(i));
/// assert_eq!(rows, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
/// ```
pub fn indexed<A>(items: A) -> Zip<Range<usize>, A> {
    zip(0..usize::MAX, items)
}

/// The loop that was called at `place`.
#[inline]
pub(crate) fn run<I, F>(items: I, body: F, place: CallSite)
where
    I: Items,
    F: Fn(I::Item) + Sync,
{
    Each::new(items.into_source(), Plain(body), place).run_all(());
}

/// A loop.
struct Each<S, B> {
    source: S,
    body: B,
    place: CallSite,
    /// Set when an item has panicked: the other threads need not run the rest.
    is_stopped: AtomicBool,
}

// SAFETY: threads take items of different numbers from the source at the same time, which a source
// allows. The body is shared by reference.
unsafe impl<S: Source, B: Sync> Sync for Each<S, B> {}

/// How a thread runs a range.
struct Plan {
    /// The size of the first batch.
    first: usize,
    /// The least time of an item, as far as is known.
    ns_per_item: f64,
    /// The time before which it does not share.
    patience_ns: f64,
    /// Whether this is the whole loop, not a piece of a shared one.
    is_whole: bool,
}

/// A range that a thread has run alone.
struct SoloRun {
    ns: f64,
    /// Whether a sleeping worker might have helped.
    is_lonely: bool,
}

/// Measures one batch after the other. A look at the clock takes 8 to 15 ns.
struct Stopwatch {
    /// When the last batch ended, in ticks.
    last: u64,
    ns_per_tick: f64,
}

impl Stopwatch {
    #[inline]
    fn start() -> Self {
        Stopwatch { ns_per_tick: ns_per_tick(), last: ticks() }
    }

    /// The nanoseconds since the last lap.
    #[inline]
    fn lap(&mut self) -> f64 {
        let now = ticks();
        now.wrapping_sub(mem::replace(&mut self.last, now)) as i64 as f64 * self.ns_per_tick
    }
}

/// How many items fit into a time; at least one. An item that takes no time counts as a short one.
#[inline]
fn items_in(ns: f64, ns_per_item: f64) -> usize {
    ((ns / ns_per_item.max(0.01)) as usize).max(1)
}

impl<S: Source, B: Body<S>> Each<S, B> {
    #[inline]
    fn new(source: S, body: B, place: CallSite) -> Self {
        Each { source, body, place, is_stopped: AtomicBool::new(false) }
    }

    /// Runs all items, in parallel if that is worth it. Called once.
    #[inline]
    fn run_all(&self, local: B::Local<'_>) {
        let all = 0..self.source.count();
        match current::forks() {
            // SAFETY: this thread's worker lives as long as its runtime.
            Some(forks) if all.len() > 1 => self.start(Joiner::of(unsafe { forks.as_ref() }), all, local),
            // SAFETY: these are all items, once.
            _ => unsafe { self.batch(all, local) },
        }
    }

    /// Runs a range of items as a plain loop.
    ///
    /// # Safety
    ///
    /// The range is within the source, and no other call has one of its items.
    // Not inlined: one copy of the body, which the compiler optimizes as a loop by itself.
    #[inline(never)]
    unsafe fn batch(&self, range: Range<usize>, local: B::Local<'_>) {
        // SAFETY: as the caller promises.
        let items = unsafe { self.source.range(range.start, range.end) };
        self.body.run(items, range.start, local);
    }

    /// Whether an item has panicked.
    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Identifies a loop by its code.
    fn kind(&self) -> usize {
        (Self::batch as unsafe fn(&Self, Range<usize>, B::Local<'_>) as *const ()).addr()
    }

    fn note(&self, loops: &Loops, ns_per_item: f64, was_helped: bool) {
        loops.note(self.kind(), ns_per_item / self.source.weight().max(1) as f64, was_helped);
    }

    /// Runs all items, on a worker. There are at least two.
    #[inline(never)]
    fn start(&self, joiner: &Joiner, all: Range<usize>, local: B::Local<'_>) {
        let (forks, count) = (joiner.forks(), all.len());
        if forks.workers() == 1 {
            // SAFETY: these are all items, once.
            return unsafe { self.batch(all, local) };
        }
        let (loops, kind) = (forks.loops(), self.kind());
        let known = loops.known(kind);
        let known_ns = known.ns_per_unit * self.source.weight() as f64;
        let expected_ns = known_ns * count as f64;
        if known.is_known() && expected_ns < TINY_NS && loops.skip(kind) {
            // SAFETY: these are all items, once.
            return unsafe { self.batch(all, local) };
        }
        let are_few = count < FEW_ITEMS_PER_WORKER * forks.workers();
        if known.was_helped && are_few && Self::pays_at_once(joiner, expected_ns) {
            return self.share(joiner, all, known_ns, true, local);
        }
        let first = if known.is_known() { items_in(FIRST_LOOK_NS, known_ns) } else { 1 };
        let plan = Plan { first, ns_per_item: known_ns, patience_ns: FIRST_LOOK_NS, is_whole: true };
        if let Some(run) = self.run(joiner, all, plan, &mut Stopwatch::start(), local) {
            self.note(loops, run.ns / count as f64, false);
            if run.is_lonely {
                loops.note_alone(run.ns);
            }
        }
    }

    /// Runs a range in batches, and shares the rest when that is worth it. Returns `None` if it was
    /// shared.
    ///
    /// The caller claimed the range: no other call has one of its items.
    fn run(
        &self,
        joiner: &Joiner,
        mut range: Range<usize>,
        plan: Plan,
        watch: &mut Stopwatch,
        mut local: B::Local<'_>,
    ) -> Option<SoloRun> {
        let (start, mut size) = (watch.last, plan.first);
        let (mut ns, mut is_lonely) = (0.0, false);
        loop {
            let end = range.start + size.min(range.len());
            let batch = mem::replace(&mut range.start, end)..end;
            let length = batch.len();
            // SAFETY: this thread has claimed the range, and each batch is another part of it.
            unsafe { self.batch(batch, B::lend(&mut local)) };
            let lap_ns = watch.lap();
            ns += lap_ns;
            if range.is_empty() || self.is_stopped() || self.body.is_done(|| range.start) {
                return Some(SoloRun { ns, is_lonely });
            }
            let ns_per_item = lap_ns / length as f64;
            let left_ns = ns_per_item.max(plan.ns_per_item) * range.len() as f64;
            let most = length.saturating_mul(GROWTH);
            if left_ns < SHORT_NS {
                size = most;
                continue;
            }
            if ns >= plan.patience_ns && left_ns >= MIN_SHARED_NS {
                let others = joiner.forks().others();
                let alone_ns = if plan.is_whole { joiner.forks().loops().alone_ns(start) + ns } else { 0.0 };
                if Self::pays(joiner, others, left_ns, watch.last, alone_ns) {
                    self.share(joiner, range, ns_per_item, false, local);
                    return None;
                }
                is_lonely |= others == Some(Others::Asleep);
            }
            size = items_in(ns.clamp(FIRST_LOOK_NS, BATCH_NS), ns_per_item).min(most);
        }
    }

    /// Whether to share a loop that was shared before and is expected to take this long, before its
    /// first item has run. Busy workers may be about to end a previous loop.
    fn pays_at_once(joiner: &Joiner, expected_ns: f64) -> bool {
        expected_ns >= 1.5 * MIN_SHARED_NS
            && joiner.forks().loops().offers_help()
            && match joiner.forks().others() {
                None => false,
                Some(Others::Busy | Others::Looking) => true,
                Some(Others::Asleep) => Self::is_worth_a_wake_up(joiner, expected_ns / 2.0, 0.0),
            }
    }

    /// Whether to share a rest at the time `now`. `alone_ns` says for how long this loop, and those
    /// before it, have run alone.
    fn pays(joiner: &Joiner, others: Option<Others>, left_ns: f64, now: u64, alone_ns: f64) -> bool {
        match others {
            None | Some(Others::Busy) => false,
            Some(Others::Looking) => left_ns >= MIN_WOKEN_NS || joiner.forks().loops().may_offer(now),
            Some(Others::Asleep) => Self::is_worth_a_wake_up(joiner, left_ns, alone_ns),
        }
    }

    fn is_worth_a_wake_up(joiner: &Joiner, left_ns: f64, alone_ns: f64) -> bool {
        let loops = joiner.forks().loops();
        let reluctance = loops.reluctance();
        let min_woken_ns = (MIN_WOKEN_NS * reluctance).min(ALWAYS_WOKEN_NS);
        let is_worth_it = left_ns >= min_woken_ns || alone_ns >= MAX_ALONE_NS * reluctance;
        if is_worth_it {
            loops.note_wake_up();
        }
        is_worth_it
    }

    /// Shares a range with helpers. If `at_once`, the fork is offered even if no worker is known to
    /// be idle.
    #[inline(never)]
    fn share(&self, joiner: &Joiner, range: Range<usize>, ns_per_item: f64, at_once: bool, local: B::Local<'_>) {
        let loops = joiner.forks().loops();
        let (ns_per_item, was_helped) = share::run(self, joiner, range, ns_per_item, at_once, local);
        self.note(loops, ns_per_item, was_helped);
        loops.note_offer(was_helped);
    }
}
