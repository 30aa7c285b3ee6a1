//! How long bodies take, by kind, so that short ones run inline at their spawn.
//!
//! A kind is a closure type (the address of its task table). A worker measures one body in
//! [`BODIES_PER_MEASUREMENT`], with the processor's time stamp. It measures a body from the pool
//! only if the last task that it ran or issued has the same scope. The maximum of a kind counts,
//! and decays slowly: with many short and few long bodies, a mean would mislead. So a kind is short
//! only if none of its recent measured bodies was long.
//!
//! A body from the pool may first wait for cache lines of another processor. A body at its spawn
//! does not. If such waits made a kind long, its tasks would continue to go through the pool, and
//! to wait. So a body from the pool counts as long only if it takes longer than such waits, or if
//! many in a row do.

use std::cell::Cell;
use std::ptr::NonNull;

use crate::clock::{ticks, ticks_per_ns};
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::task::VTable;
use crate::worker::scope_state::ScopeState;

/// A worker measures one body in this many.
const BODIES_PER_MEASUREMENT: u64 = 16;
/// After this many measurements, the length of a kind is trusted.
const MEASUREMENTS_BEFORE_TRUST: u32 = 4;
/// Below this, running a body at once costs less than handing it to another worker.
const BREAK_EVEN_NS: f64 = 100.0;
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
    /// All three limits are in ticks of the time stamp.
    break_even: u32,
    cold: u32,
    long: u32,
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
}

/// Where a body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunSite {
    AtItsSpawn,
    FromThePool,
}

/// The start of a body, if it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started(Option<u64>);

impl Kinds {
    pub(crate) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        let ticks = |ns: f64| (ns * ticks_per_ns()) as u32;
        Kinds { slots, break_even: ticks(BREAK_EVEN_NS), cold: ticks(COLD_NS), long: ticks(LONG_NS) }
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

    /// Notes a measurement. A race between workers only loses one.
    #[cold]
    fn note(&self, kind: &'static VTable, ticks: u64, site: RunSite) {
        let (slot, address) = self.slot(kind);
        let ticks = ticks.min(u64::from(u32::MAX - 1)) as u32;
        if slot.kind.load(Ordering::Relaxed) != address {
            slot.longest.store(u32::MAX, Ordering::Relaxed);
            slot.measured.store(0, Ordering::Relaxed);
            slot.kind.store(address, Ordering::Relaxed);
        }
        let measured = slot.measured.load(Ordering::Relaxed) + 1;
        if measured < MEASUREMENTS_BEFORE_TRUST {
            slot.measured.store(measured, Ordering::Relaxed);
        } else if measured == MEASUREMENTS_BEFORE_TRUST {
            slot.measured.store(measured, Ordering::Relaxed);
            // The first bodies of a kind meet cold caches, so they do not count.
            slot.longest.store(ticks, Ordering::Relaxed);
        } else {
            let longest = slot.longest.load(Ordering::Relaxed);
            let cold = site == RunSite::FromThePool && ticks > longest && ticks < self.cold;
            let before = slot.cold.load(Ordering::Relaxed);
            let in_a_row = if cold { before + 1 } else { 0 };
            if in_a_row != before {
                slot.cold.store(in_a_row % MAX_COLD_IN_A_ROW, Ordering::Relaxed);
            }
            if cold && in_a_row < MAX_COLD_IN_A_ROW {
                return;
            }
            // Every worker reads this cache line before each body, so only changes that matter are
            // stored.
            if ticks > longest || ticks < longest - longest / 4 {
                slot.longest.store(ticks.max(longest - longest / 16), Ordering::Relaxed);
            }
        }
    }
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
        if self.last.replace(Some(scope_state)) == Some(scope_state) { self.start(nth) } else { Started(None) }
    }

    /// A body starts: the `nth` of this worker.
    #[inline]
    pub(crate) fn start(&self, nth: u64) -> Started {
        Started(nth.is_multiple_of(BODIES_PER_MEASUREMENT).then(ticks))
    }

    /// The body has finished. `kinds` is called only if it was measured.
    #[inline(always)]
    pub(crate) fn end<'k>(
        &self,
        kinds: impl FnOnce() -> &'k Kinds,
        kind: &'static VTable,
        started: Started,
        site: RunSite,
    ) {
        if let Some(start) = started.0 {
            kinds().note(kind, ticks().wrapping_sub(start), site);
        }
    }
}
