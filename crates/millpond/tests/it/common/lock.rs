//! A lock that ThreadSanitizer sees through. Std is precompiled, so a contended lock of its own looks like a race.

#[cfg(not(millpond_tsan))]
mod of_std {
    use std::sync::{Mutex as Std, MutexGuard, PoisonError};

    #[derive(Debug, Default)]
    pub struct Mutex<T>(Std<T>);

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Mutex(Std::new(value))
        }

        /// Poisoning is ignored: the panic that causes it is reported anyhow.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

#[cfg(not(millpond_tsan))]
pub use of_std::Mutex;
#[cfg(millpond_tsan)]
pub use parking_lot::Mutex;
