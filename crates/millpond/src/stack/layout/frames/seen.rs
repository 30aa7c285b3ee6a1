//! What others see of a stack while its owner goes on, and how the owner says that frames come and go.
//!
//! A look sees the stack as it was at one moment, or begins again: the owner, who opens or closes a frame, or announces what
//! runs already (`begin_change`, `end_change`),
//!
//! - C1. makes `shape` odd;
//! - C2. release fence;
//! - C3. changes what there is to see, in atomics;
//! - C4. makes `shape` even, the next number: release;
//!
//! and who looks (`at_one_moment`)
//!
//! - L1. reads `shape`: acquire;
//! - L2. reads what there is to see;
//! - L3. acquire fence;
//! - L4. reads `shape` again; what it has seen counts if both are the same even number.
//!
//! Who sees anything of C3 in L2 sees, by the two fences, C1 in L4: another number. Who sees an even number in L1 sees, by C4,
//! all of the change before. Nothing that is seen is followed before L4: frames may be gone.

use super::{Frame, Frames};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::spin_loop;

/// What a stack looked like at one moment.
#[derive(Clone, Copy, Debug)]
pub(in crate::stack) struct Seen {
    pub(in crate::stack) youngest: *mut Frame,
    /// What comes next, or, if it is taken, runs.
    pub(in crate::stack) next: *mut u8,
    pub(in crate::stack) taken: bool,
    /// Up to where closures are complete.
    pub(in crate::stack) top: *mut u8,
}

impl Frames {
    /// As `top`, for a thief: what is below is complete.
    pub(crate) fn top_seen(&self) -> *mut u8 {
        self.top.load(Ordering::Acquire)
    }

    /// The youngest frame, what comes next or runs there, and the top, as they were at one moment: the owner may be opening or
    /// closing a frame while a thief looks (`guard`), once.
    pub(in crate::stack) fn seen(&self) -> Seen {
        loop {
            let seen = self.at_one_moment(|| {
                let youngest = self.youngest.load(Ordering::Acquire);
                // What comes next is not beyond the top.
                let (next, taken) = self.cursor();
                Seen { youngest, next, taken, top: self.top.load(Ordering::Acquire) }
            });
            if let Some(seen) = seen {
                return seen;
            }
            spin_loop();
        }
    }

    /// What `look` sees, unless a frame is opened or closed meanwhile.
    #[inline]
    pub(in crate::stack) fn at_one_moment<R>(&self, look: impl FnOnce() -> R) -> Option<R> {
        let shape = self.shape.load(Ordering::Acquire);
        let seen = look();
        fence(Ordering::Acquire);
        (shape.is_multiple_of(2) && self.shape.load(Ordering::Relaxed) == shape).then_some(seen)
    }

    /// A number that grows whenever a frame is opened or closed, or emptied, or what runs is announced.
    pub(in crate::stack) fn shape(&self) -> usize {
        self.shape.load(Ordering::Acquire).wrapping_add(self.rounds.load(Ordering::Acquire))
    }

    /// A number that grows whenever something may become ready though cursor and top stay where they are, or come there again.
    pub(in crate::stack) fn changes(&self) -> usize {
        self.shape().wrapping_add(self.thefts.load(Ordering::Acquire))
    }

    /// A closure that was stolen is done.
    pub(in crate::stack) fn count_theft(&self) {
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
