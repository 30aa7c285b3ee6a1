//! Adaptive steal policy: batch size and back-off, from the run time of earlier stolen tasks. Times
//! are in clock ticks (about 0.4 ns).

/// If a stolen task runs longer than this, its theft was worth the owner's time.
const WORTHWHILE_TICKS: u64 = 1200;

/// Limits of one batch: its number of closures, and their total run time. A visit is expensive. If
/// the owner is in a long body, the thief pays for a barrier (10 µs and more). Otherwise the owner
/// pays for a scan.
const MAX_BATCH_CLOSURES: u64 = 128;
const MAX_BATCH_TICKS: u64 = 1 << 18;

/// The pause of an idle thief between two scans: its start value, and its limit.
const MIN_PAUSE_TICKS: u64 = 1 << 10;
const MAX_PAUSE_TICKS: u64 = 1 << 15;

/// See the [module](self).
#[derive(Debug)]
pub(in crate::stack) struct StealPolicy {
    several: u64,
    worth: bool,
    pause: u64,
}

impl Default for StealPolicy {
    fn default() -> Self {
        StealPolicy { several: 1, worth: true, pause: MIN_PAUSE_TICKS }
    }
}

impl StealPolicy {
    /// How many closures a thief takes at once if that costs the owner nothing. The number grows
    /// while the stolen tasks are short.
    pub(in crate::stack) fn several(&self) -> u64 {
        self.several
    }

    /// How many closures a thief asks an owner for: one, if an owner would run such short tasks
    /// sooner than it can give them away.
    pub(in crate::stack) fn wish(&self) -> u64 {
        if self.worth { self.several } else { 1 }
    }

    /// Records that a stolen leaf has run for `took` ticks. Returns whether it was worth its theft.
    pub(in crate::stack) fn has_run(&mut self, took: u64) -> bool {
        let as_many = (MAX_BATCH_TICKS / took.max(1)).clamp(1, MAX_BATCH_CLOSURES);
        self.several = as_many.min(self.several * 2);
        self.worth = took > WORTHWHILE_TICKS;
        self.worth
    }

    /// How long the thief pauses after a scan. It does not pause if the scan was worth it.
    /// Otherwise each pause is longer than the one before, up to the limit.
    pub(in crate::stack) fn pause_after(&mut self, worth: bool) -> u64 {
        self.pause = if worth { MIN_PAUSE_TICKS } else { (self.pause * 2).min(MAX_PAUSE_TICKS) };
        if worth { 0 } else { self.pause }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_short_tasks_and_not_with_those_too_short() {
        let mut steal_policy = StealPolicy::default();
        // Tasks of 4 µs: the thief takes more of them the next time, and scans again at once.
        assert!(steal_policy.has_run(10_000) && steal_policy.several() == 2 && steal_policy.wish() == 2);
        assert_eq!(steal_policy.pause_after(true), 0);
        // If tasks are too short, the thief asks an owner for one, after a pause.
        assert!(!steal_policy.has_run(100) && steal_policy.wish() == 1);
        assert!(steal_policy.pause_after(false) < steal_policy.pause_after(false));
    }
}
