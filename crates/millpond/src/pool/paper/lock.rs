//! The locks of the paper's pools: system mutexes or spin locks (TP §4.3).

use crate::sync::{Locked, Mutex, MutexGuard, UnsafeCell};

/// The kind of lock that a pool uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockKind {
    /// System mutexes: a waiting thread sleeps.
    #[default]
    System,
    /// Spin locks: a waiting thread reads the lock again and again.
    Spin,
}

/// A lock of either kind.
#[derive(Debug)]
pub(super) enum Lock {
    System(Mutex<()>),
    Spin(Locked),
}

/// A held lock. Its drop releases it.
pub(super) enum Held<'a> {
    System { _guard: MutexGuard<'a, ()> },
    Spin(&'a Locked),
}

impl Lock {
    pub(super) fn new(kind: LockKind) -> Self {
        match kind {
            LockKind::System => Lock::System(Mutex::new(())),
            LockKind::Spin => Lock::Spin(Locked::default()),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> Held<'_> {
        match self {
            Lock::System(mutex) => Held::System { _guard: mutex.lock() },
            Lock::Spin(lock) => {
                lock.lock();
                Held::Spin(lock)
            }
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Held<'_>> {
        match self {
            Lock::System(mutex) => mutex.try_lock().map(|guard| Held::System { _guard: guard }),
            // `Held` is made only if the lock is taken: its drop releases the lock.
            Lock::Spin(lock) => lock.try_lock().then(|| Held::Spin(lock)),
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Held::Spin(lock) = self {
            lock.unlock(0);
        }
    }
}

/// A value behind such a lock.
pub(super) struct Guarded<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: threads touch the value only under the lock. The lock hands it from thread to thread.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(super) fn new(kind: LockKind, value: T) -> Self {
        Guarded { lock: Lock::new(kind), value: UnsafeCell::new(value) }
    }

    /// Calls `f` under the lock.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.lock.lock();
        self.value.with_mut(|value| {
            // SAFETY: the lock excludes other threads.
            f(unsafe { &mut *value })
        })
    }

    /// Like [`with`](Guarded::with), but only if the lock is free.
    #[inline]
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _held = self.lock.try_lock()?;
        Some(self.value.with_mut(|value| {
            // SAFETY: the lock excludes other threads.
            f(unsafe { &mut *value })
        }))
    }
}
