//! A lock that is a bit of a word. Its release is a store; a mutex needs a read-modify-write there,
//! to learn whether a thread sleeps.
//!
//! It is for sections of a few loads and stores, as in the schemes' lists. Two sections may be
//! longer: the parts of a reduction may have to grow a list, and a search of tickets checks up to
//! 128 tasks. A thread that finds the lock taken spins. It yields now and then, because the holder
//! may have lost its processor.

use super::tracked::{AtomicU32, Ordering};
use super::{UnsafeCell, prefetch_for_write, spin_for_lock};

/// The bit that is set while the lock is taken.
const LOCKED: u32 = 1;

/// A word whose lowest bit is a lock. The holder changes the other bits when it releases the lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Locked(AtomicU32);

impl Locked {
    /// Takes the lock. Returns the other bits of the word.
    #[inline]
    pub(crate) fn lock(&self) -> u32 {
        // Otherwise the load would fetch the line as shared, and the compare-and-swap would request
        // it once more.
        prefetch_for_write(std::ptr::NonNull::from(&self.0).cast(), 4);
        // Under loom the expected value is a guess: a load before the compare-and-swap would hide
        // interleavings.
        let mut seen = if cfg!(loom) { 0 } else { self.0.load(Ordering::Relaxed) };
        loop {
            if seen & LOCKED != 0 {
                seen = self.wait();
            }
            match self.0.compare_exchange_weak(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return seen >> 1,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the lock if it is free. Returns whether it did.
    #[inline]
    #[cfg(feature = "catalogue")]
    pub(crate) fn try_lock(&self) -> bool {
        let seen = if cfg!(loom) { 0 } else { self.0.load(Ordering::Relaxed) };
        seen & LOCKED == 0 && self.0.compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits until the lock is free, and returns the word. The holder does a few loads and stores,
    /// unless it lost its processor.
    #[cold]
    fn wait(&self) -> u32 {
        let mut turns = 0;
        loop {
            spin_for_lock();
            let seen = self.0.load(Ordering::Relaxed);
            if seen & LOCKED == 0 {
                return seen;
            }
            turns += 1;
            if turns % 64 == 0 && cfg!(not(loom)) {
                std::thread::yield_now();
            }
        }
    }

    /// Releases the lock and sets the other bits to `value`, in one store. A thread that sees this
    /// may free the word.
    #[inline]
    pub(crate) fn unlock(&self, value: u32) {
        self.0.store(value << 1, Ordering::Release);
    }

    /// The other bits of the word, without the lock.
    #[inline]
    #[cfg(feature = "catalogue")]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire) >> 1
    }

    /// Tells a model that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(crate) fn end(&mut self) {
        self.0.with_mut(|_| ());
    }
}

/// A value behind such a lock.
#[derive(Default)]
pub(crate) struct Spinning<T> {
    lock: Locked,
    value: UnsafeCell<T>,
}

// SAFETY: threads touch the value only under the lock. The lock hands it from thread to thread.
unsafe impl<T: Send> Sync for Spinning<T> {}

impl<T> std::fmt::Debug for Spinning<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spinning").finish_non_exhaustive()
    }
}

impl<T> Spinning<T> {
    pub(crate) fn new(value: T) -> Self {
        Spinning { lock: Locked::default(), value: UnsafeCell::new(value) }
    }

    /// Calls `change` under the lock. `change` runs no foreign code, does not take this lock again,
    /// and does not unwind: that would leave the lock taken.
    #[inline]
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        let changed = self.value.with_mut(|value| {
            // SAFETY: the lock excludes other threads.
            change(unsafe { &mut *value })
        });
        self.lock.unlock(0);
        changed
    }
}
