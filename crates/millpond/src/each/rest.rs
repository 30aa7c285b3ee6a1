//! The unclaimed items of a shared loop: a range that threads claim from both ends.
//!
//! ```text
//!   0        front                   all − back        all      in units of 2^shift items
//!   | claimed  |        unclaimed        |  claimed     |
//!
//!   taken = front: 32 bits, back: 32 bits                       one word
//! ```
//!
//! # Protocol
//!
//! **Claim** at an end:
//!
//! 1. Load the word. If front + back is all, nothing is left.
//! 2. Add to the count of that end, by a compare-and-swap of the whole word. If it fails, go to 1
//!    with the word that it has read.
//!
//! # Why it works
//!
//! * **No item is claimed twice.** A claim takes units between the two counts that it has read. Its
//!   compare-and-swap succeeds only if neither count has changed since, because counts never
//!   decrease.
//! * **All operations are relaxed.** The word hands nothing over but numbers. A helper sees the
//!   items because it has taken the fork (`worker::forks`). The caller sees what a helper did with
//!   them because it waits for that fork.

use std::ops::Range;

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
mod loom_tests;

/// The end at which a thread claims. The caller of a loop and its helpers begin at different ends.
/// So in a repeated loop, a thread mostly gets the same items as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Rest {
    taken: AtomicU64,
    /// How many units there are.
    all: u32,
    /// A unit has 2^shift items.
    shift: u32,
    from: usize,
    length: usize,
}

/// How many units are claimed at each end.
#[derive(Clone, Copy, Debug)]
struct Taken {
    front: u32,
    back: u32,
}

impl Taken {
    fn of(word: u64) -> Self {
        Taken { front: (word >> 32) as u32, back: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.front) << 32 | u64::from(self.back)
    }
}

impl Rest {
    pub(super) fn new(range: Range<usize>) -> Self {
        let length = range.len();
        // The sum of both counts fits 32 bits, even for usize::MAX items.
        let shift = (usize::BITS - length.leading_zeros()).saturating_sub(31);
        let all = length.div_ceil(1 << shift) as u32;
        Rest { taken: AtomicU64::new(0), all, shift, from: range.start, length }
    }

    /// The number of the item at which a unit begins; the end if there is no such unit.
    fn item(&self, unit: u32) -> usize {
        if unit >= self.all { self.length } else { (unit as usize) << self.shift }
    }

    /// About how many items are left; 0 exactly if none is.
    pub(super) fn left(&self) -> usize {
        let Taken { front, back } = Taken::of(self.taken.load(Relaxed));
        self.item(self.all - front - back)
    }

    /// The number of the first item that is not claimed, as far as it is known.
    pub(super) fn begin(&self) -> usize {
        self.from + self.item(Taken::of(self.taken.load(Relaxed)).front)
    }

    /// Claims about `wanted` items: at least one, or fewer if fewer are left. `None` if none is
    /// left.
    pub(super) fn claim(&self, end: End, wanted: usize) -> Option<Range<usize>> {
        let wanted = u32::try_from(wanted >> self.shift).unwrap_or(u32::MAX).max(1);
        let mut word = self.taken.load(Relaxed);
        loop {
            let Taken { front, back } = Taken::of(word);
            let left = self.all - front - back;
            if left == 0 {
                return None;
            }
            let units = wanted.min(left);
            let (claimed, taken) = match end {
                End::Front => (front..front + units, Taken { front: front + units, back }),
                End::Back => (self.all - back - units..self.all - back, Taken { front, back: back + units }),
            };
            match self.taken.compare_exchange_weak(word, taken.word(), Relaxed, Relaxed) {
                Ok(_) => return Some(self.from + self.item(claimed.start)..self.from + self.item(claimed.end)),
                Err(now) => word = now,
            }
        }
    }

    /// Whether a helper has claimed: a thread at the back.
    pub(super) fn was_helped(&self) -> bool {
        Taken::of(self.taken.load(Relaxed)).back > 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_every_size_are_claimed_to_the_end() {
        for range in [0..0, 5..6, 3..10, 0..usize::MAX, 7..(1 << 33) + 8, 1..usize::MAX] {
            let rest = Rest::new(range.clone());
            assert_eq!(rest.left(), range.len());
            let (mut from, mut to) = (range.start, range.end);
            let mut end = End::Back;
            // A quarter at a time, and the last ones at once.
            while let Some(claimed) = rest.claim(end, (rest.left() / 4).max(1 << 40)) {
                assert!(!claimed.is_empty());
                if end == End::Front {
                    assert_eq!(claimed.start, from);
                    from = claimed.end;
                } else {
                    assert_eq!(claimed.end, to);
                    to = claimed.start;
                }
                end = if end == End::Front { End::Back } else { End::Front };
            }
            assert_eq!((from, rest.left()), (to, 0), "{range:?}");
            assert_eq!(rest.was_helped(), !range.is_empty());
        }
    }
}
