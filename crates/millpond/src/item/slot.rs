//! A slot: empty until it is filled, once. It keeps the waiters that come before that.
//!
//! ```text
//!            put (1)                 put (3)
//!   LIST ───────────────▶ LIST | TAKEN ─────▶ FULL
//!   null, or the newest of those who wait
//! ```
//!
//! 1. *Put* claims the slot by setting `TAKEN` with a compare-and-swap. One putter succeeds, any
//!    other is refused.
//! 2. The putter alone writes the value.
//! 3. It publishes the value by exchanging the word for `FULL` (acquire and release), and wakes all
//!    waiters in the old word.
//! 4. *Get* loads the word (acquire). If it is `FULL`, the value is published, and no thread writes
//!    it any more.
//! 5. *Wait* links its waiter in front of the list by a compare-and-swap that keeps `TAKEN`, unless
//!    the word is `FULL`. So either it comes before the exchange (3), which finds it, or it sees
//!    `FULL`.
//! 6. *Release* takes the list out and keeps the rest of the word. The waiters in it continue
//!    without a value.

use std::mem::MaybeUninit;
use std::ptr;

use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicPtr, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// A waiter in a slot.
pub(super) trait Waits {
    /// Lets the waiter continue. May run any code.
    fn go(self);
}

/// See the [module](self).
pub(super) struct Slot<T, W: Waits> {
    word: AtomicPtr<Node<W>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

// Aligned, so that its addresses have room for the two flags.
#[repr(align(8))]
struct Node<W> {
    next: *mut Node<W>,
    who: W,
}

const TAKEN: usize = 1;
const FULL: usize = 2;

// SAFETY: one thread writes the value before it is published, and all share it afterwards. Waiters
// are handed to the thread that takes the list.
unsafe impl<T: Send + Sync, W: Waits + Send> Sync for Slot<T, W> {}
// SAFETY: it owns both.
unsafe impl<T: Send, W: Waits + Send> Send for Slot<T, W> {}

impl<T, W: Waits> Slot<T, W> {
    pub(super) fn new() -> Self {
        Slot { word: AtomicPtr::default(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.word.load(Ordering::Acquire).addr() == FULL
    }

    /// The value, if it was put.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        if !self.is_full() {
            return None;
        }
        let value = self.value.with(|value| value);
        // SAFETY: the value is published, and not written any more (step 4). As long as the slot is
        // borrowed, only a caller that promises that no reference exists takes the value out.
        Some(unsafe { &*value.cast::<T>() })
    }

    /// Fills the slot, and wakes all waiters.
    ///
    /// # Errors
    ///
    /// The value, if a thread has filled the slot, or is filling it.
    pub(super) fn put(&self, value: T) -> Result<(), T> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word.addr() & (TAKEN | FULL) != 0 {
                return Err(value);
            }
            let taken = word.map_addr(|addr| addr | TAKEN);
            match self.word.compare_exchange_weak(word, taken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // SAFETY: only the thread that has set `TAKEN` uses the cell.
        self.value.with_mut(|cell| unsafe { (*cell).write(value) });
        let waiting = self.word.swap(ptr::without_provenance_mut(FULL), Ordering::AcqRel);
        Self::let_go(waiting);
        Ok(())
    }

    /// Waits for the value. If it was put, returns the waiter.
    pub(super) fn wait(&self, who: W) -> Option<W> {
        let mut word = self.word.load(Ordering::Acquire);
        if word.addr() == FULL {
            return Some(who);
        }
        let mut node = Box::new(Node { next: ptr::null_mut(), who });
        loop {
            node.next = word.map_addr(|addr| addr & !TAKEN);
            let at = Box::into_raw(node);
            let new = at.map_addr(|addr| addr | word.addr() & TAKEN);
            match self.word.compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return None,
                Err(now) => word = now,
            }
            // SAFETY: it was made above, and is not published.
            node = unsafe { Box::from_raw(at) };
            if word.addr() == FULL {
                return Some(node.who);
            }
        }
    }

    /// Wakes all waiters, although there is no value.
    pub(super) fn release(&self) {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word.addr() & !TAKEN == 0 || word.addr() == FULL {
                return;
            }
            let rest = ptr::without_provenance_mut(word.addr() & TAKEN);
            match self.word.compare_exchange_weak(word, rest, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Self::let_go(word),
                Err(now) => word = now,
            }
        }
    }

    /// Wakes the waiters of a list that was taken out of the word.
    fn let_go(list: *mut Node<W>) {
        Self::each(list, Waits::go);
    }

    /// Takes apart a list that was taken out.
    fn each(list: *mut Node<W>, mut f: impl FnMut(W)) {
        let mut next = list.map_addr(|addr| addr & !(TAKEN | FULL));
        while !next.is_null() {
            // SAFETY: `wait` has leaked it, and the thread that takes the list is the only one that
            // has it.
            let node = unsafe { Box::from_raw(next) };
            next = node.next;
            f(node.who);
        }
    }

    /// Empties the slot: drops all waiters, and returns the value, if it was put.
    pub(super) fn end(&mut self) -> Option<T> {
        let word = self.word.swap(ptr::null_mut(), Ordering::Acquire);
        if word.addr() != FULL {
            Self::each(word, drop);
            return None;
        }
        // SAFETY: the value is published, and nothing else has the slot. The slot is empty now, so
        // the value is not taken twice.
        Some(self.value.with_mut(|value| unsafe { value.cast::<T>().read() }))
    }
}

impl<T, W: Waits> Drop for Slot<T, W> {
    fn drop(&mut self) {
        drop(self.end());
    }
}
