//! How often a thief looks, and how much it takes, by what its looks were worth. Times are in ticks of the clock (some 0.4 ns).

/// What a theft must bring to be worth the time that it takes from its owner.
const WORTH: u64 = 2500;

/// How many closures a thief takes at once, at most, and how long they take: a visit costs the thief a barrier (10 µs and more), if
/// the owner is in a long body, or else the owner a scan.
const MOST: u64 = 128;
const TOGETHER: u64 = 1 << 17;

/// The least time between two looks of a thief, and the longest, in which it is idle.
const BRIEFLY: u64 = 1 << 10;
const LONGEST: u64 = 1 << 15;

/// See the [module](self).
#[derive(Debug)]
pub(in crate::stack) struct StealPolicy {
    several: u64,
    worth: bool,
    pause: u64,
}

impl Default for StealPolicy {
    fn default() -> Self {
        StealPolicy { several: 1, worth: true, pause: BRIEFLY }
    }
}

impl StealPolicy {
    /// How many closures it takes at once where that costs their owner nothing: more and more while they are short.
    pub(in crate::stack) fn several(&self) -> u64 {
        self.several
    }

    /// How many it asks an owner for: one, if they are so short that an owner does them sooner than it gives them away.
    pub(in crate::stack) fn wish(&self) -> u64 {
        if self.worth { self.several } else { 1 }
    }

    /// A leaf that it has stolen has run, for so many ticks; whether that was worth its theft.
    pub(in crate::stack) fn has_run(&mut self, took: u64) -> bool {
        let as_many = (TOGETHER / took.max(1)).clamp(1, MOST);
        self.several = as_many.min(self.several * 2);
        self.worth = took > WORTH;
        self.worth
    }

    /// For how long it does not look after a look that was worth it, or was not: then each time for longer.
    pub(in crate::stack) fn pause_after(&mut self, worth: bool) -> u64 {
        self.pause = if worth { BRIEFLY } else { (self.pause * 2).min(LONGEST) };
        if worth { 0 } else { self.pause }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_short_tasks_and_not_with_those_too_short() {
        let mut steal_policy = StealPolicy::default();
        // Tasks of 4 µs: it takes more of them the next time, and looks at once.
        assert!(steal_policy.has_run(10_000) && steal_policy.several() == 2 && steal_policy.wish() == 2);
        assert_eq!(steal_policy.pause_after(true), 0);
        // Of shorter ones than it is worth an owner is asked for one, and not soon.
        assert!(!steal_policy.has_run(100) && steal_policy.wish() == 1);
        assert!(steal_policy.pause_after(false) < steal_policy.pause_after(false));
    }
}
