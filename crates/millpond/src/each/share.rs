//! A shared rest of a loop: each thread claims pieces until nothing is left.

use std::mem;
use std::ops::Range;

use super::body::Body;
use super::items::Source;
use super::rest::{End, Rest};
use super::{BATCH_NS, Each, MIN_SHARED_NS, MIN_WOKEN_NS, Plan, Stopwatch, items_in};
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::Relaxed;
use crate::worker::fork::Joiner;
use crate::worker::forks::Others;

/// The time of a piece, as far as it can be foreseen. A claim takes about 0.1 µs. The threads end
/// at most a piece apart.
const PIECE_NS: f64 = 20_000.0;
/// Towards the end, pieces get smaller, but not smaller than this.
const MIN_PIECE_NS: f64 = 500.0;
/// A thread shares the rest of its own piece only if that has taken much longer than expected.
const PATIENCE_NS: f64 = 2.0 * PIECE_NS;

struct Shared<'a, S, B> {
    each: &'a Each<S, B>,
    rest: Rest,
    workers: usize,
}

/// Runs a range together with helpers. The caller has claimed the range. Returns the time per item,
/// and whether a helper came.
pub(super) fn run<S: Source, B: Body<S>>(
    each: &Each<S, B>,
    joiner: &Joiner,
    range: Range<usize>,
    ns_per_item: f64,
    at_once: bool,
    local: B::Local<'_>,
) -> (f64, bool) {
    let workers = joiner.forks().workers();
    let shared = Shared { each, rest: Rest::new(range), workers };
    let ns_per_item = shared.split(joiner, End::Front, workers - 1, ns_per_item, at_once, local);
    (ns_per_item, shared.rest.was_helped())
}

/// Lets the other threads stop, unless it is forgotten: user code panics.
pub(super) struct StopOnPanic<'a>(pub(super) &'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl<S: Source, B: Body<S>> Shared<'_, S, B> {
    /// Forks a helper, and works meanwhile. May fork up to `helpers` more.
    #[inline(never)]
    fn split(
        &self,
        joiner: &Joiner,
        end: End,
        helpers: usize,
        ns_per_item: f64,
        at_once: bool,
        mut local: B::Local<'_>,
    ) -> f64 {
        let guard = StopOnPanic(&self.each.is_stopped);
        let (own, branch) = B::fork(&mut local);
        mem::forget(guard);
        let here = |joiner: &Joiner| {
            if at_once {
                joiner.forks().offer_all();
            }
            self.work(joiner, end, helpers, ns_per_item, own)
        };
        let helper = |joiner: &Joiner| {
            let work = |local: B::Local<'_>| self.work(joiner, End::Back, self.workers - 1, ns_per_item, local);
            B::run_branch(branch, work).1
        };
        let (ns_per_item, part) = joiner.join_at(here, helper, self.each.place);
        B::absorb(&mut local, part);
        ns_per_item
    }

    /// Runs pieces until nothing is left. Returns the time per item, measured by its last piece.
    fn work(&self, joiner: &Joiner, end: End, helpers: usize, mut ns_per_item: f64, mut local: B::Local<'_>) -> f64 {
        let mut watch = Stopwatch::start();
        loop {
            let left = self.rest.left();
            if left == 0 || self.each.is_stopped() || self.each.body.is_done(|| self.rest.begin()) {
                return ns_per_item;
            }
            if helpers > 0 && self.wants_helper(joiner, left as f64 * ns_per_item) {
                return self.split(joiner, end, helpers - 1, ns_per_item, false, local);
            }
            // A helper that was forked while all were busy is for the next idle worker.
            joiner.forks().answer();
            let Some(piece) = self.rest.claim(end, self.size(left, ns_per_item)) else { return ns_per_item };
            let length = piece.len();
            let first = items_in(BATCH_NS, ns_per_item);
            let plan = Plan { first, ns_per_item: 0.0, patience_ns: PATIENCE_NS, is_whole: false };
            let guard = StopOnPanic(&self.each.is_stopped);
            match self.each.run(joiner, piece, plan, &mut watch, B::lend(&mut local)) {
                Some(ran) => ns_per_item = ran.ns / length as f64,
                None => _ = watch.lap(),
            }
            mem::forget(guard);
        }
    }

    fn wants_helper(&self, joiner: &Joiner, left_ns: f64) -> bool {
        match joiner.forks().others() {
            None | Some(Others::Busy) => false,
            Some(Others::Looking) => left_ns >= MIN_SHARED_NS,
            Some(Others::Asleep) => left_ns >= 2.0 * MIN_WOKEN_NS,
        }
    }

    /// How many items a thread claims: a part of what is left, so that all threads end together. A
    /// larger one while it is alone: helpers come later, if at all.
    fn size(&self, left: usize, ns_per_item: f64) -> usize {
        let parts = if self.rest.was_helped() { 2 * self.workers } else { self.workers };
        let fair = left / parts;
        fair.min(items_in(PIECE_NS, ns_per_item)).max(items_in(MIN_PIECE_NS, ns_per_item))
    }
}
