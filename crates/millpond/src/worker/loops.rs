//! A worker's memory of the loops that it has run (`each`). Only the worker's thread uses it.

use std::cell::Cell;

use crate::clock::{ns_per_tick, ticks};

/// How many kinds of loops it remembers. A kind is a loop's code.
const PLACES: usize = 16;

/// How many runs of a tiny loop are not measured after a measured one.
const SKIPPED: u8 = 15;

/// Each shorter measurement leaves this part of the remembered time. The memory is a maximum
/// that decays, because a loop that is sometimes long must not count as tiny.
const DECAY: f64 = 7.0 / 8.0;

/// After so many offers in a row that brought no helper, the next one waits for `PAUSE_NS`.
const MAX_UNHELPED: u32 = 2;

/// A worker that was woken looks for work for 50 µs (`sleep::spin`). An offer in each of these
/// times meets it.
const PAUSE_NS: f64 = 30_000.0;

/// How often the time before a wake-up doubles, while wake-ups bring no helper. If the other
/// processors are busy, a woken worker does not run, and each wake-up costs the waker 5 µs.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// For how long loops have run alone while other workers slept, in nanoseconds.
    alone_ns: Cell<f64>,
    /// When the last of them ended, in ticks.
    alone_until: Cell<u64>,
    /// How many offers in a row have brought no helper.
    unhelped: Cell<u32>,
    /// When the last of them ended, in ticks.
    unhelped_until: Cell<u64>,
    /// How many wake-ups in a row have brought no helper.
    wake_ups: Cell<u32>,
    known: [Cell<Known>; PLACES],
}

/// The record of one kind of loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// 0 if nothing is known.
    kind: usize,
    /// The time of an item, or of an element if the items are chunks; 0 if nothing is known.
    pub(crate) ns_per_unit: f64,
    /// Whether another worker took part in the last run.
    pub(crate) was_helped: bool,
    skips: u8,
}

impl Known {
    pub(crate) fn is_known(&self) -> bool {
        self.kind != 0
    }
}

impl Loops {
    fn place(&self, kind: usize) -> &Cell<Known> {
        let hash = (kind >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> (usize::BITS - 8);
        &self.known[hash % PLACES]
    }

    /// The record of a kind.
    #[inline]
    pub(crate) fn known(&self, kind: usize) -> Known {
        let known = self.place(kind).get();
        if known.kind == kind { known } else { Known::default() }
    }

    /// Whether a tiny loop may run unmeasured. The kind is known.
    #[inline]
    pub(crate) fn skip(&self, kind: usize) -> bool {
        let place = self.place(kind);
        let known = place.get();
        place.set(Known { skips: known.skips.saturating_sub(1), ..known });
        known.skips > 0
    }

    /// Notes a measured run.
    pub(crate) fn note(&self, kind: usize, ns_per_unit: f64, was_helped: bool) {
        let before = self.known(kind).ns_per_unit;
        // Not 0, which would mean that nothing is known.
        let ns_per_unit = ns_per_unit.max(before * DECAY).max(0.01);
        self.place(kind).set(Known { kind, ns_per_unit, was_helped, skips: SKIPPED });
    }

    /// For how long loops had run alone when this one began, less the time between them.
    pub(crate) fn alone_ns(&self, start: u64) -> f64 {
        let pause = start.saturating_sub(self.alone_until.get()) as f64 * ns_per_tick();
        (self.alone_ns.get() - pause).max(0.0)
    }

    /// Notes a loop that has just ended, and ran alone for this long.
    pub(crate) fn note_alone(&self, ns: f64) {
        let now = ticks();
        let start = now.wrapping_sub((ns / ns_per_tick()) as u64);
        self.alone_ns.set(self.alone_ns(start) + ns);
        self.alone_until.set(now);
    }

    /// Whether to offer a short rest to workers that look for work.
    pub(crate) fn may_offer(&self, now: u64) -> bool {
        self.offers_help() || now.saturating_sub(self.unhelped_until.get()) as f64 * ns_per_tick() >= PAUSE_NS
    }

    /// Whether one of the last offers has brought a helper.
    pub(crate) fn offers_help(&self) -> bool {
        self.unhelped.get() < MAX_UNHELPED
    }

    /// By what the times before a wake-up are multiplied.
    pub(crate) fn reluctance(&self) -> f64 {
        f64::from(1 << self.wake_ups.get())
    }

    /// Notes that a worker is woken for a loop.
    pub(crate) fn note_wake_up(&self) {
        self.alone_ns.set(0.0);
        self.wake_ups.set((self.wake_ups.get() + 1).min(MAX_DOUBLINGS));
    }

    /// Notes the end of a loop that was offered.
    pub(crate) fn note_offer(&self, was_helped: bool) {
        if was_helped {
            self.unhelped.set(0);
            self.wake_ups.set(0);
        } else {
            self.unhelped.set(self.unhelped.get().saturating_add(1));
            self.unhelped_until.set(ticks());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_loop_is_measured_now_and_then() {
        let loops = Loops::default();
        assert!(!loops.known(64).is_known());
        loops.note(64, 2.0, false);
        assert!((0..SKIPPED).all(|_| loops.skip(64)) && !loops.skip(64));
        loops.note(64, 1.0, true);
        assert!(loops.skip(64) && loops.known(64).was_helped);
    }

    #[test]
    fn a_loop_that_was_long_is_not_forgotten_at_once() {
        let loops = Loops::default();
        loops.note(64, 1000.0, false);
        loops.note(64, 1.0, false);
        assert!(loops.known(64).ns_per_unit > 800.0);
        (0..60).for_each(|_| loops.note(64, 1.0, false));
        assert!(loops.known(64).ns_per_unit < 2.0);
    }

    #[test]
    fn time_between_loops_counts_against_them() {
        let loops = Loops::default();
        loops.note_alone(1e6);
        let soon = loops.alone_ns(ticks());
        assert!(soon > 0.0 && soon <= 1e6, "{soon}");
        let late = ticks() + (2e6 / ns_per_tick()) as u64;
        assert!(loops.alone_ns(late) == 0.0);
        loops.note_wake_up();
        assert!(loops.alone_ns(ticks()) == 0.0);
    }

    #[test]
    fn offers_without_help_become_rare() {
        let loops = Loops::default();
        let later = || ticks() + (2.0 * PAUSE_NS / ns_per_tick()) as u64;
        loops.note_offer(false);
        assert!(loops.offers_help() && loops.may_offer(ticks()));
        loops.note_offer(false);
        assert!(!loops.offers_help() && loops.may_offer(later()));
        (0..20).for_each(|_| loops.note_wake_up());
        assert!(loops.reluctance() == 64.0);
        loops.note_offer(true);
        assert!(loops.offers_help() && loops.reluctance() == 1.0);
    }
}
