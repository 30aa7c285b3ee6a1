//! How long bodies take, by kind, so that short ones run inline at their spawn.
//!
//! A kind is a closure type (the address of its task table). A worker measures some bodies, with
//! the processor's time stamp. It measures a body from the pool only if the last task that it ran
//! or issued has the same scope. The maximum of a kind counts, and decays slowly: with many short
//! and few long bodies, a mean would mislead. So a kind is short only if none of its recent
//! measured bodies was long.
//!
//! *What counts.* Handing a task to another worker costs more with more accesses. So a measured
//! time counts less a little for each access.
//!
//! *Surprises.* The thread may lose its processor during a body. So one long body does not make a
//! short kind long. The worker then measures the next [`BODIES_AFTER_SURPRISE`] bodies. If one of
//! them is long and of the same kind, the kind is long.
//!
//! *Cold lines.* A body from the pool may first wait for cache lines of another processor. A body
//! at its spawn does not. If such waits made a kind long, its tasks would continue to go through
//! the pool, and to wait. So a body from the pool counts as long only if it takes longer than such
//! waits, or if many in a row do.

use std::cell::Cell;
use std::ptr::NonNull;

use crate::clock::{ticks, ticks_per_ns};
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::task::{TaskRef, VTable};
use crate::worker::scope_state::ScopeState;

/// A worker measures one body in this many. These numbers are prime, so that in a loop with a few
/// kinds each of them is measured.
const BODIES_PER_MEASUREMENT: u64 = 17;
/// The same after a body of a short kind. A measurement takes as long as several such bodies.
const SHORT_BODIES_PER_MEASUREMENT: u64 = 61;
/// The same after [`SHORT_IN_A_ROW`] measurements of short bodies. If bodies become long, as many
/// run at their spawn before the worker notices.
const STEADY_BODIES_PER_MEASUREMENT: u64 = 251;
const SHORT_IN_A_ROW: u32 = 16;
/// The same if there is one worker.
const BODIES_PER_MEASUREMENT_ALONE: u64 = 1021;
/// So many bodies in a row are measured after a long body of a short kind.
const BODIES_AFTER_SURPRISE: u32 = 8;
/// After this many measurements, the length of a kind is trusted.
const MEASUREMENTS_BEFORE_TRUST: u32 = 4;
/// Below this, running a body at once costs less than handing it to another worker.
const BREAK_EVEN_NS: f64 = 100.0;
/// By so much each access makes handing over more expensive.
const ACCESS_NS: f64 = 20.0;
/// A longer body did not only wait for a few cache lines.
const COLD_NS: f64 = 1000.0;
/// If this many bodies in a row look cold, the reason is not cold cache lines.
const MAX_COLD_IN_A_ROW: u32 = 16;
/// Before a longer body, a check pays off: whether others can find all tasks of the worker.
const LONG_NS: f64 = 20_000.0;
const SLOTS: usize = 256;

/// How long the bodies of a kind take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Medium,
    /// Long, or unknown.
    Long,
}

/// The lengths of all kinds. The workers of a runtime share this, and rarely write it.
#[derive(Debug)]
pub(crate) struct Kinds {
    slots: Box<[Slot]>,
    /// These times are in ticks of the time stamp.
    break_even: u32,
    access: u32,
    cold: u32,
    long: u32,
    /// Whether there is only one worker. Then all ready leaves run inline, long or not.
    is_alone: bool,
}

#[derive(Debug, Default)]
struct Slot {
    kind: AtomicUsize,
    /// The decaying maximum, in ticks; `u32::MAX` until there are enough measurements.
    longest: AtomicU32,
    measured: AtomicU32,
    /// How many measurements in a row looked as if the body waited for cold cache lines.
    cold: AtomicU32,
}

/// How a worker chooses the bodies that it measures.
#[derive(Debug, Default)]
pub(crate) struct Grains {
    /// The scope of the last task that this worker issued or ran. Only compared, never
    /// dereferenced.
    last: Cell<Option<NonNull<ScopeState>>>,
    /// The number of the worker's last body that need not be measured. Bodies have numbers from 1.
    skipped: Cell<u64>,
    /// How many measured bodies in a row were short.
    short_in_a_row: Cell<u32>,
    surprise: Cell<Surprise>,
}

/// A long body of a kind that was short.
#[derive(Clone, Copy, Debug, Default)]
struct Surprise {
    kind: usize,
    /// How many of the next bodies are still measured for it.
    left: u32,
}

/// A finished body, for its measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) kind: &'static VTable,
    pub(crate) accesses: usize,
    pub(crate) site: RunSite,
}

/// Where a body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunSite {
    AtItsSpawn,
    FromThePool,
}

/// The start of a body, in ticks. 0 if it is not measured. Not an option, so that it takes one
/// register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started(u64);

impl Ran {
    pub(crate) fn of(task: TaskRef, site: RunSite) -> Self {
        Ran { kind: task.header().vtable(), accesses: task.records().len(), site }
    }
}

impl Kinds {
    pub(crate) fn new(workers: usize) -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        let ticks = |ns: f64| (ns * ticks_per_ns()) as u32;
        let (break_even, access) = (ticks(BREAK_EVEN_NS), ticks(ACCESS_NS));
        let (cold, long, is_alone) = (ticks(COLD_NS), ticks(LONG_NS), workers == 1);
        Kinds { slots, break_even, access, cold, long, is_alone }
    }

    #[inline]
    fn slot(&self, kind: &'static VTable) -> (&Slot, usize) {
        let address = std::ptr::from_ref(kind).addr();
        // A table has about 48 bytes. The multiplier spreads neighbours.
        let hash = (address >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> (usize::BITS - 8);
        (&self.slots[hash % SLOTS], address)
    }

    /// Whether bodies of this kind are short enough to run at their spawn.
    #[inline]
    pub(crate) fn is_short(&self, kind: &'static VTable) -> bool {
        self.length(kind) == Length::Short
    }

    /// How long bodies of this kind take.
    #[inline]
    pub(crate) fn length(&self, kind: &'static VTable) -> Length {
        let (slot, address) = self.slot(kind);
        let longest = slot.longest.load(Ordering::Relaxed);
        if slot.kind.load(Ordering::Relaxed) != address {
            Length::Long
        } else if longest < self.break_even {
            Length::Short
        } else if longest < self.long {
            Length::Medium
        } else {
            Length::Long
        }
    }

    /// Notes a measurement. A race between workers only loses one. `suspected` says whether another
    /// long body of the kind was a surprise just before.
    fn note(&self, ran: Ran, ticks: u64, suspected: bool) -> Noted {
        let (slot, address) = self.slot(ran.kind);
        let ticks = ticks.saturating_sub(u64::from(self.access) * ran.accesses as u64);
        let ticks = ticks.min(u64::from(u32::MAX - 1)) as u32;
        if slot.kind.load(Ordering::Relaxed) != address {
            slot.longest.store(u32::MAX, Ordering::Relaxed);
            slot.measured.store(0, Ordering::Relaxed);
            slot.kind.store(address, Ordering::Relaxed);
        }
        let measured = slot.measured.load(Ordering::Relaxed) + 1;
        if measured <= MEASUREMENTS_BEFORE_TRUST {
            slot.measured.store(measured, Ordering::Relaxed);
            if measured == MEASUREMENTS_BEFORE_TRUST {
                // The first bodies of a kind meet cold caches, so they do not count.
                slot.longest.store(ticks, Ordering::Relaxed);
            }
            return if self.is_alone { Noted::Short } else { Noted::Counted };
        }
        let longest = slot.longest.load(Ordering::Relaxed);
        let in_a_row = if ran.site == RunSite::FromThePool { self.cold_in_a_row(slot, ticks) } else { 0 };
        if (1..MAX_COLD_IN_A_ROW).contains(&in_a_row) {
            return Noted::Counted;
        }
        let is_certain = suspected || in_a_row == MAX_COLD_IN_A_ROW;
        if longest < self.break_even && ticks >= self.break_even && !is_certain && !self.is_alone {
            return Noted::Surprise;
        }
        // Every worker reads this cache line before each body, so only changes that matter are
        // stored.
        if ticks > longest || ticks < longest - longest / 4 {
            slot.longest.store(ticks.max(longest - longest / 16), Ordering::Relaxed);
        }
        if longest < self.break_even || self.is_alone { Noted::Short } else { Noted::Counted }
    }

    /// How many bodies in a row from the pool, with this one, look as if they waited for cold
    /// lines. 0 if this one does not.
    fn cold_in_a_row(&self, slot: &Slot, ticks: u32) -> u32 {
        let longest = slot.longest.load(Ordering::Relaxed);
        let cold = ticks > longest && ticks < self.cold;
        let before = slot.cold.load(Ordering::Relaxed);
        let in_a_row = if cold { before + 1 } else { 0 };
        if in_a_row != before {
            slot.cold.store(in_a_row % MAX_COLD_IN_A_ROW, Ordering::Relaxed);
        }
        in_a_row
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noted {
    /// The body was short, as those before, or its length hardly matters.
    Short,
    /// The body was long, those before were short, and it does not count yet.
    Surprise,
    Counted,
}

impl Grains {
    /// Notes that this worker issues or starts a task of this scope.
    #[inline]
    pub(crate) fn note_scope(&self, scope_state: NonNull<ScopeState>) {
        self.last.set(Some(scope_state));
    }

    /// The body of a task from the pool starts: the `nth` body of this worker.
    #[inline]
    pub(crate) fn start_taken(&self, scope_state: NonNull<ScopeState>, nth: u64) -> Started {
        if self.last.replace(Some(scope_state)) == Some(scope_state) { self.start(nth) } else { Started(0) }
    }

    /// A body starts: the `nth` of this worker. The 0th is never measured.
    #[inline]
    pub(crate) fn start(&self, nth: u64) -> Started {
        if nth <= self.skipped.get() {
            return Started(0);
        }
        self.skipped.set(nth + BODIES_PER_MEASUREMENT - 1);
        Started(ticks())
    }

    /// A body has finished. `kinds` is called only if it was measured.
    #[inline(always)]
    pub(crate) fn end<'k>(&self, kinds: impl FnOnce() -> &'k Kinds, ran: Ran, started: Started) {
        if started.0 != 0 {
            self.end_measured(kinds(), ran, ticks().wrapping_sub(started.0));
        }
    }

    #[cold]
    fn end_measured(&self, kinds: &Kinds, ran: Ran, ticks: u64) {
        let Surprise { kind, left } = self.surprise.get();
        let this = std::ptr::from_ref(ran.kind).addr();
        let noted = kinds.note(ran, ticks, left > 0 && kind == this);
        let in_a_row = if noted == Noted::Short { self.short_in_a_row.get().saturating_add(1) } else { 0 };
        self.short_in_a_row.set(in_a_row);
        let left = match noted {
            // The next bodies are measured for one kind at a time.
            Noted::Surprise if left == 0 => {
                self.surprise.set(Surprise { kind: this, left: BODIES_AFTER_SURPRISE });
                BODIES_AFTER_SURPRISE
            }
            Noted::Short if left == 0 => {
                let one_in = match in_a_row {
                    _ if kinds.is_alone => BODIES_PER_MEASUREMENT_ALONE,
                    ..SHORT_IN_A_ROW => SHORT_BODIES_PER_MEASUREMENT,
                    _ => STEADY_BODIES_PER_MEASUREMENT,
                };
                self.skipped.set(self.skipped.get() + (one_in - BODIES_PER_MEASUREMENT));
                0
            }
            _ if left > 0 => {
                self.surprise.set(Surprise { kind, left: left - 1 });
                left - 1
            }
            _ => 0,
        };
        if left > 0 {
            self.skipped.set(0);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    static KIND: VTable = VTable::OF_POOLS;

    fn ran(accesses: usize, site: RunSite) -> Ran {
        Ran { kind: &KIND, accesses, site }
    }

    /// With one kind, which is short.
    fn short() -> Kinds {
        let kinds = Kinds::new(2);
        for _ in 0..MEASUREMENTS_BEFORE_TRUST {
            assert!(!kinds.is_short(&KIND));
            kinds.note(ran(0, RunSite::AtItsSpawn), 10, false);
        }
        assert!(kinds.is_short(&KIND));
        kinds
    }

    #[test]
    fn one_surprise_does_not_count_and_two_do() {
        for site in [RunSite::AtItsSpawn, RunSite::FromThePool] {
            let (kinds, grains) = (short(), Grains::default());
            let long = u64::from(kinds.cold) * 2;
            grains.end_measured(&kinds, ran(0, site), long);
            for _ in 0..BODIES_AFTER_SURPRISE {
                grains.end_measured(&kinds, ran(0, site), 10);
            }
            // The first one is forgotten.
            grains.end_measured(&kinds, ran(0, site), long);
            assert!(kinds.is_short(&KIND));
            grains.end_measured(&kinds, ran(0, site), 10);
            grains.end_measured(&kinds, ran(0, site), long);
            assert!(!kinds.is_short(&KIND));
        }
    }

    #[test]
    fn two_kinds_that_become_long_are_found() {
        static OTHER: VTable = VTable::OF_POOLS;
        let (kinds, grains) = (short(), Grains::default());
        let other = Ran { kind: &OTHER, ..ran(0, RunSite::AtItsSpawn) };
        (0..MEASUREMENTS_BEFORE_TRUST).for_each(|_| _ = kinds.note(other, 10, false));
        assert!(kinds.is_short(&KIND) && kinds.is_short(&OTHER));
        for _ in 0..3 {
            grains.end_measured(&kinds, ran(0, RunSite::AtItsSpawn), u64::from(kinds.long));
            grains.end_measured(&kinds, other, u64::from(kinds.long));
        }
        assert!(!kinds.is_short(&KIND));
        (0..2 * BODIES_AFTER_SURPRISE).for_each(|_| grains.end_measured(&kinds, other, u64::from(kinds.long)));
        assert!(!kinds.is_short(&OTHER));
    }

    #[test]
    fn cold_bodies_count_if_there_are_many() {
        let kinds = short();
        let cold = u64::from(kinds.cold) - 1;
        for _ in 1..MAX_COLD_IN_A_ROW {
            assert!(kinds.note(ran(0, RunSite::FromThePool), cold, false) == Noted::Counted);
        }
        assert!(kinds.is_short(&KIND));
        kinds.note(ran(0, RunSite::FromThePool), cold, false);
        assert!(!kinds.is_short(&KIND));
    }

    #[test]
    fn after_a_surprise_each_body_is_measured() {
        let (kinds, grains) = (short(), Grains::default());
        let measured = |nth| grains.start(nth).0 != 0;
        assert!(measured(1) && !measured(2) && !measured(17));
        grains.end_measured(&kinds, ran(0, RunSite::AtItsSpawn), 10);
        // As a short kind, it is measured less often.
        assert!(!measured(1 + BODIES_PER_MEASUREMENT) && measured(1 + SHORT_BODIES_PER_MEASUREMENT));
        grains.end_measured(&kinds, ran(0, RunSite::AtItsSpawn), u64::from(kinds.long));
        let next = 2 + SHORT_BODIES_PER_MEASUREMENT;
        assert!(measured(next) && !measured(next + 1));
        grains.end_measured(&kinds, ran(0, RunSite::AtItsSpawn), 10);
        assert!(measured(next + 1));
        // A kind that stays short is measured still less often, until another surprise.
        let mut at = next + 2 * SHORT_BODIES_PER_MEASUREMENT;
        for _ in 1..SHORT_IN_A_ROW {
            assert!(measured(at));
            grains.end_measured(&kinds, ran(0, RunSite::AtItsSpawn), 10);
            at += SHORT_BODIES_PER_MEASUREMENT;
        }
        assert!(!measured(at) && measured(at + STEADY_BODIES_PER_MEASUREMENT));
        // A body with the number 0 is no task's.
        assert!(Grains::default().start(0).0 == 0);
    }

    #[test]
    fn accesses_may_take_their_time() {
        let kinds = short();
        let ticks = u64::from(kinds.break_even + 19 * kinds.access);
        assert!(kinds.note(ran(20, RunSite::AtItsSpawn), ticks, false) != Noted::Surprise);
        assert!(kinds.note(ran(0, RunSite::AtItsSpawn), ticks, false) == Noted::Surprise);
    }
}
