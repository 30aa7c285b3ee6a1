//! The state of a task that its joins see: one word, the first of the block.
//!
//! ```text
//!  63 ………………………………………… 8   2       1     0
//!  how often the block was used   DROPPED WATCHED DONE
//! ```
//!
//! The join of a *counted* task (one that returns a value) keeps the block. Completion sets DONE,
//! and dropping the join sets DROPPED. The later of the two frees the block.
//!
//! Any other join only remembers the word's count of uses, which costs nothing. If the word
//! shows another count, or DONE, the task is complete. (The memory manager promises that the
//! first word of a block stays a `State`.)
//!
//! A waiter sets WATCHED by compare-and-swap, so only before DONE is set. The completer's
//! read-modify-write returns WATCHED; the completer then searches the scope's list of watchers. So
//! either the waiter sees DONE, or the completer sees WATCHED.

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

/// What the completer found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) watched: bool,
    /// The join was dropped before.
    pub(crate) dropped: bool,
}

impl State {
    /// Begins a new use of the block.
    #[inline]
    pub(crate) fn begin(&self) {
        let uses = self.0.load(Ordering::Relaxed) & !(USE - 1);
        // Release: a stale join that sees the new use must also see the earlier task's completion.
        // That completion happened before the block came here.
        // Wrapping: in a stack's frame, the word may have held any bits.
        self.0.store(uses.wrapping_add(USE), Ordering::Release);
    }

    /// The current use, which a join remembers.
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

    /// Requests a notification of the completion. Returns false if the task is complete.
    pub(crate) fn watch(&self, usage: u64) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & !(USE - 1) != usage || seen & DONE != 0 {
                // Acquires the completer's writes for the caller.
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
        // DONE is not set yet, so an addition sets it. An earlier read of the word would move the
        // cache line here twice.
        let old = self.0.fetch_add(DONE, Ordering::AcqRel);
        Completed { watched: old & WATCHED != 0, dropped: old & DROPPED != 0 }
    }

    /// Like `complete`, on the only thread that uses the task's join.
    #[inline]
    pub(crate) fn complete_alone(&self) -> Completed {
        let old = self.0.load(Ordering::Relaxed);
        self.0.store(old + DONE, Ordering::Release);
        Completed { watched: old & WATCHED != 0, dropped: old & DROPPED != 0 }
    }

    /// Records that the join of a counted task was dropped. Returns true if the task is complete:
    /// then the caller must free the block.
    pub(crate) fn drop_join(&self) -> bool {
        self.0.fetch_or(DROPPED, Ordering::AcqRel) & DONE != 0
    }
}
