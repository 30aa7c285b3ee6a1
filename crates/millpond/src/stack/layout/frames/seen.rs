//! How thieves see a stack while its owner works, and how the owner announces changes of its
//! frames.
//!
//! A reader sees the stack as it was at one moment, or reads it again. To open or close a frame, or
//! to announce a closure that already runs (`begin_change`, `end_change`), the owner:
//!
//! - C1. makes `shape` odd;
//! - C2. issues a release fence;
//! - C3. changes what readers see, in atomics;
//! - C4. makes `shape` even, the next number: release.
//!
//! A reader (`at_one_moment`):
//!
//! - L1. reads `shape`: acquire;
//! - L2. reads what C3 changes;
//! - L3. issues an acquire fence;
//! - L4. reads `shape` again. The result of L2 counts if both numbers are the same, and even.
//!
//! If L2 sees anything of C3, then L4 sees C1, by the two fences: another number. If L1 sees an
//! even number, the reader sees all of the change before, by C4. A reader follows no pointer before
//! L4, because frames may be gone.

use super::{Frame, Frames};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::spin_loop;

/// A stack as it was at one moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::stack) struct Seen {
    pub(in crate::stack) youngest: *mut Frame,
    /// The next closure or, if it is taken, the running one.
    pub(in crate::stack) next: *mut u8,
    pub(in crate::stack) taken: bool,
    /// Closures below this place are complete.
    pub(in crate::stack) top: *mut u8,
}

impl Frames {
    /// Like `top`, for a thief: closures below it are complete.
    pub(crate) fn top_seen(&self) -> *mut u8 {
        self.top.load(Ordering::Acquire)
    }

    /// The youngest frame, its next or running closure, and the top, as they were at one moment.
    /// The owner may open or close one frame while a thief reads (`owner_lock`).
    pub(in crate::stack) fn seen(&self) -> Seen {
        loop {
            let seen = self.at_one_moment(|| {
                let youngest = self.youngest.load(Ordering::Acquire);
                // The next closure is not beyond the top.
                let (next, taken) = self.cursor();
                Seen { youngest, next, taken, top: self.top.load(Ordering::Acquire) }
            });
            if let Some(seen) = seen {
                return seen;
            }
            spin_loop();
        }
    }

    /// What `look` returns. If the owner opens or closes a frame meanwhile, `None`.
    #[inline]
    pub(in crate::stack) fn at_one_moment<R>(&self, look: impl FnOnce() -> R) -> Option<R> {
        let shape = self.shape.load(Ordering::Acquire);
        let seen = look();
        fence(Ordering::Acquire);
        (shape.is_multiple_of(2) && self.shape.load(Ordering::Relaxed) == shape).then_some(seen)
    }

    /// A number that grows when the owner opens, closes or empties a frame, or announces a running
    /// closure.
    pub(in crate::stack) fn shape(&self) -> usize {
        self.shape.load(Ordering::Acquire).wrapping_add(self.rounds.load(Ordering::Acquire))
    }

    /// A number that grows when a closure may become ready although cursor and top show no change.
    pub(in crate::stack) fn changes(&self) -> usize {
        self.shape().wrapping_add(self.thefts.load(Ordering::Acquire))
    }

    /// Counts a change that may make closures ready: a stolen closure is done, or a batch has
    /// ended.
    pub(in crate::stack) fn count_change(&self) {
        self.thefts.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn begin_change(&self) {
        self.shape.store(self.shape.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    pub(crate) fn end_change(&self) {
        self.shape.store(self.shape.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}
