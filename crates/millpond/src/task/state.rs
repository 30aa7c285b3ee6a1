//! What a join sees of its task: one word, the first of the block.
//!
//! ```text
//!  63 ………………………………………… 8   2       1     0
//!  how often the block was used   DROPPED WATCHED DONE
//! ```
//!
//! A join of a *counted* task (it returns a value) keeps the block: completion sets DONE, the join's drop sets
//! DROPPED, and whoever comes second frees the block.
//!
//! Any other join keeps nothing, and costs nothing: it remembers the count, and if the word shows another one, or
//! DONE, the task is complete. (The memory manager promises that the first word of a block stays one.)
//!
//! A waiter sets WATCHED by compare-and-swap, so only while the task is not done; the completer, whose
//! read-modify-write returns it, then looks into the scope's list of watchers. So either the waiter sees DONE or the
//! completer sees WATCHED.

use crate::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

const DONE: u64 = 1;
const WATCHED: u64 = 2;
const DROPPED: u64 = 4;
const USE: u64 = 1 << 8;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct State(AtomicU64);

/// What completion found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) watched: bool,
    /// The join was dropped before.
    pub(crate) dropped: bool,
}

impl State {
    /// A new use of the block.
    #[inline]
    pub(crate) fn begin(&self) {
        let uses = self.0.load(Ordering::Relaxed) & !(USE - 1);
        // Release: a stale join that sees the new use goes on as after the earlier task's completion, which happened
        // before the block came here.
        // Wrapping: in a stack's frame anything may have been there.
        self.0.store(uses.wrapping_add(USE), Ordering::Release);
    }

    /// The current use, for a join to remember.
    #[inline]
    pub(crate) fn usage(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & !(USE - 1)
    }

    /// Whether the task that used the block at `usage` is complete.
    #[inline]
    pub(crate) fn is_done(&self, usage: u64) -> bool {
        let now = self.0.load(Ordering::Acquire);
        now & !(USE - 1) != usage || now & DONE != 0
    }

    /// Asks to be told of the completion; false if the task is complete.
    pub(crate) fn watch(&self, usage: u64) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & !(USE - 1) != usage || seen & DONE != 0 {
                // The completer's write, for what the caller reads next.
                self.0.load(Ordering::Acquire);
                return false;
            }
            match self.0.compare_exchange_weak(seen, seen | WATCHED, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// The task is complete.
    #[inline]
    pub(crate) fn complete(&self) -> Completed {
        // DONE is not set yet, so adding sets it; and the sum needs no earlier look at the word, which would move the
        // line here twice.
        let old = self.0.fetch_add(DONE, Ordering::AcqRel);
        Completed { watched: old & WATCHED != 0, dropped: old & DROPPED != 0 }
    }

    /// As `complete`, on the thread that alone uses the task's join.
    #[inline]
    pub(crate) fn complete_alone(&self) -> Completed {
        let old = self.0.load(Ordering::Relaxed);
        self.0.store(old + DONE, Ordering::Release);
        Completed { watched: old & WATCHED != 0, dropped: old & DROPPED != 0 }
    }

    /// The join of a counted task is gone; true if the task is complete, so the caller frees the block.
    pub(crate) fn drop_join(&self) -> bool {
        self.0.fetch_or(DROPPED, Ordering::AcqRel) & DONE != 0
    }
}
