//! A lock without poisoning.

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
