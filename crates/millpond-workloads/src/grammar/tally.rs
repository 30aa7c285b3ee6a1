//! Counts the executed tasks. The tasks themselves count.

use super::serial::Totals;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The number of counters. Threads that share one take turns.
const PLACES: usize = 16;

/// Counts of every type and of the time, in several counters.
pub struct Tally(Vec<Place>);

/// Aligned, so that counters of different threads share no cache line.
#[repr(align(128))]
struct Place {
    by_type: Box<[AtomicU64]>,
    units: AtomicU64,
}

thread_local! {
    static MINE: Cell<usize> = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        Cell::new(THREADS.fetch_add(1, Relaxed) % PLACES)
    };
}

impl Tally {
    /// A tally for this number of types.
    pub fn new(types: usize) -> Self {
        // Whole lines, so that no two counters share one.
        let counts = || (0..types.next_multiple_of(16)).map(|_| AtomicU64::new(0)).collect();
        Self((0..PLACES).map(|_| Place { by_type: counts(), units: AtomicU64::new(0) }).collect())
    }

    /// Counts a task of a type.
    pub fn count(&self, kind: usize) {
        self.0[MINE.get()].by_type[kind].fetch_add(1, Relaxed);
    }

    /// Counts time.
    pub fn take(&self, units: u64) {
        self.0[MINE.get()].units.fetch_add(units, Relaxed);
    }

    /// The sums of all counters.
    pub fn totals(&self, types: usize) -> Totals {
        let sum = |of: &dyn Fn(&Place) -> &AtomicU64| self.0.iter().map(|place| of(place).load(Relaxed)).sum();
        Totals {
            by_type: (0..types).map(|kind| sum(&|place| &place.by_type[kind])).collect(),
            units: sum(&|place| &place.units),
        }
    }
}
