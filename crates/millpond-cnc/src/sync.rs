//! Atomics and locks of the item tables: the standard library's or loom's.
//!
//! The runtime has such a switch, too. This crate cannot use it, because it is no part of the
//! runtime's public interface, and models are built without the runtime.

#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock, atomic};

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
#[cfg(loom)]
pub(crate) use once::OnceLock;

/// Takes a lock. Poison is ignored, because a thread that panics with the lock leaves the data as
/// it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(loom)]
mod once {
    use super::atomic::{AtomicBool, Ordering};
    use super::{Mutex, lock};

    /// Like std's `OnceLock`, whose ordering loom does not see. Std's holds the value; loom's flag
    /// and lock order the accesses.
    pub(crate) struct OnceLock<T> {
        value: std::sync::OnceLock<T>,
        there: AtomicBool,
        making: Mutex<()>,
    }

    impl<T> OnceLock<T> {
        pub(crate) fn new() -> Self {
            OnceLock { value: std::sync::OnceLock::new(), there: AtomicBool::new(false), making: Mutex::new(()) }
        }

        pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
            if !self.there.load(Ordering::Acquire) {
                let _making = lock(&self.making);
                self.value.get_or_init(make);
                self.there.store(true, Ordering::Release);
            }
            self.value.get().expect("made before this is said")
        }
    }
}
