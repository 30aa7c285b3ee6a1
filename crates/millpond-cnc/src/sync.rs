//! Atomics and locks of the item tables, of the standard library or of loom.

#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard, OnceLock, atomic};

#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
#[cfg(loom)]
pub(crate) use once::OnceLock;

/// Takes a lock; who panicked with it has left what it guards as it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(loom)]
mod once {
    use super::atomic::{AtomicBool, Ordering};
    use super::{Mutex, lock};

    /// As std's, whose order loom does not see: the value lies in std's, a flag and a lock of loom's go before it.
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
