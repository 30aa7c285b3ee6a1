//! A lock that is a bit of a word: giving it back is a store, where a mutex takes another read-modify-write to learn who
//! sleeps.
//!
//! It is for what takes a few loads and stores, as the schemes' lists do, and mostly no longer: the parts of a reduction may
//! have to grow a list, and a search of tickets looks at 128 tasks. Whoever finds it taken waits for it on the spot, and
//! lets others run if its holder may have lost its processor.

use super::tracked::{AtomicU32, Ordering};
use super::{UnsafeCell, prefetch_for_write, spin_for_lock};

/// The bit that says that the lock is taken.
const LOCKED: u32 = 1;

/// A word whose lowest bit is a lock, and whose others its holder changes when it gives the lock back.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Locked(AtomicU32);

impl Locked {
    /// Takes the lock; what the word says beside it.
    #[inline]
    pub(crate) fn lock(&self) -> u32 {
        // The load alone would bring the line here to be read only, and the compare-and-swap once more.
        prefetch_for_write(std::ptr::NonNull::from(&self.0).cast(), 4);
        // Loom would not look at what the load of a thread hides from its compare-and-swap, so there it is a guess.
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

    /// Takes the lock, unless somebody has it.
    #[inline]
    #[cfg(feature = "catalogue")]
    pub(crate) fn try_lock(&self) -> bool {
        let seen = if cfg!(loom) { 0 } else { self.0.load(Ordering::Relaxed) };
        seen & LOCKED == 0 && self.0.compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The word once it is not locked. The holder does a few loads and stores, unless it lost its processor.
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

    /// Gives the lock back and says what the word says from now on, in one store: who sees that may free it.
    #[inline]
    pub(crate) fn unlock(&self, value: u32) {
        self.0.store(value << 1, Ordering::Release);
    }

    /// What the word says, without the lock.
    #[inline]
    #[cfg(feature = "catalogue")]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire) >> 1
    }

    /// A model's sign that the memory is used for something else.
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

// SAFETY: the value is touched under the lock, by which it is handed from thread to thread.
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

    /// Calls `change` with the lock taken. It runs nobody else's code, comes here no second time, and does not unwind: that
    /// would leave the lock taken.
    #[inline]
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        let changed = self.value.with_mut(|value| {
            // SAFETY: the lock keeps others away.
            change(unsafe { &mut *value })
        });
        self.lock.unlock(0);
        changed
    }
}
