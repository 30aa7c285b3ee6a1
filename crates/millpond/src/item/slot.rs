//! A slot: empty until it is filled, once; who comes before waits in it.
//!
//! ```text
//!            put (1)                 put (3)
//!   LIST ───────────────▶ LIST | TAKEN ─────▶ FULL
//!   null, or the newest of those who wait
//! ```
//!
//! 1. *Put* claims the slot by setting `TAKEN` in a compare-and-swap: one putter gets it, any other is refused.
//! 2. The putter alone writes the value.
//! 3. It publishes the value by exchanging the word for `FULL` (acquire and release), and lets everybody go who was in
//!    the word.
//! 4. *Get* loads the word (acquire): if it is `FULL`, the value is there, and nobody writes it any more.
//! 5. *Wait* links itself in front of the list by a compare-and-swap that keeps `TAKEN`, unless the word is `FULL`. So it
//!    comes before the exchange (3), which finds it, or sees that the value is there.
//! 6. *Release* takes the list out and leaves the rest of the word; those in it go on without a value.

use std::mem::MaybeUninit;
use std::ptr;

use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicPtr, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// What may wait in a slot.
pub(super) trait Waits {
    /// It need not wait any more. May run any code.
    fn go(self);
}

/// See the [module](self).
pub(super) struct Slot<T, W: Waits> {
    word: AtomicPtr<Node<W>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

// Its addresses have room for a bit.
#[repr(align(8))]
struct Node<W> {
    next: *mut Node<W>,
    who: W,
}

const TAKEN: usize = 1;
const FULL: usize = 2;

// SAFETY: the value is written by one thread before it is published, and shared afterwards; who waits is handed to the
// thread that takes the list.
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

    /// The value, if it is there.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        if !self.is_full() {
            return None;
        }
        let value = self.value.with(|value| value);
        // SAFETY: published, and not written any more (step 4); as long as the slot is borrowed nobody takes it out but
        // who promises that there is no reference.
        Some(unsafe { &*value.cast::<T>() })
    }

    /// Fills the slot, and lets those go who wait for that.
    ///
    /// # Errors
    ///
    /// The value, if somebody has filled the slot, or is filling it.
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
        // SAFETY: who has set `TAKEN` alone uses the cell.
        self.value.with_mut(|cell| unsafe { (*cell).write(value) });
        let waiting = self.word.swap(ptr::without_provenance_mut(FULL), Ordering::AcqRel);
        Self::let_go(waiting);
        Ok(())
    }

    /// Waits for the value, unless it is there: then the waiter comes back.
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
            // SAFETY: made above, and not published.
            node = unsafe { Box::from_raw(at) };
            if word.addr() == FULL {
                return Some(node.who);
            }
        }
    }

    /// Lets everybody go who waits, though there is no value.
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

    /// Those of a list that was taken out go.
    fn let_go(list: *mut Node<W>) {
        Self::each(list, Waits::go);
    }

    /// Takes a list apart that was taken out.
    fn each(list: *mut Node<W>, mut f: impl FnMut(W)) {
        let mut next = list.map_addr(|addr| addr & !(TAKEN | FULL));
        while !next.is_null() {
            // SAFETY: `wait` has leaked it, and who takes the list has it alone.
            let node = unsafe { Box::from_raw(next) };
            next = node.next;
            f(node.who);
        }
    }

    /// Drops what waits; the value, if it is there. Then the slot is empty.
    pub(super) fn end(&mut self) -> Option<T> {
        let word = self.word.swap(ptr::null_mut(), Ordering::Acquire);
        if word.addr() != FULL {
            Self::each(word, drop);
            return None;
        }
        // SAFETY: published, and nobody else has the slot; that it is empty now keeps the value from being taken again.
        Some(self.value.with_mut(|value| unsafe { value.cast::<T>().read() }))
    }
}

impl<T, W: Waits> Drop for Slot<T, W> {
    fn drop(&mut self) {
        drop(self.end());
    }
}
