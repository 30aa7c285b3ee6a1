//! The locks of the paper's pools: the system's, or one that waits actively (TP §4.3).

use crate::sync::{Locked, Mutex, MutexGuard, UnsafeCell};

/// Which locks a pool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockKind {
    /// The system's: who waits for one sleeps.
    #[default]
    System,
    /// Spin locks: who waits for one looks at it again and again.
    Spin,
}

/// A lock of either kind.
#[derive(Debug)]
pub(super) enum Gate {
    System(Mutex<()>),
    Spin(Locked),
}

/// A lock that is held, until this is dropped.
pub(super) enum Held<'a> {
    System { _guard: MutexGuard<'a, ()> },
    Spin(&'a Locked),
}

impl Gate {
    pub(super) fn new(kind: LockKind) -> Self {
        match kind {
            LockKind::System => Gate::System(Mutex::new(())),
            LockKind::Spin => Gate::Spin(Locked::default()),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> Held<'_> {
        match self {
            Gate::System(mutex) => Held::System { _guard: mutex.lock() },
            Gate::Spin(lock) => {
                lock.lock();
                Held::Spin(lock)
            }
        }
    }

    /// Takes the lock unless somebody has it.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Held<'_>> {
        match self {
            Gate::System(mutex) => mutex.try_lock().map(|guard| Held::System { _guard: guard }),
            // Made only if the lock is held: its drop gives it back.
            Gate::Spin(lock) => lock.try_lock().then(|| Held::Spin(lock)),
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
    gate: Gate,
    value: UnsafeCell<T>,
}

// SAFETY: the value is touched under the lock, by which it is handed from thread to thread.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(super) fn new(kind: LockKind, value: T) -> Self {
        Guarded { gate: Gate::new(kind), value: UnsafeCell::new(value) }
    }

    /// Calls `f` with the lock taken.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.gate.lock();
        self.value.with_mut(|value| {
            // SAFETY: the lock keeps others away.
            f(unsafe { &mut *value })
        })
    }

    /// As [`with`](Guarded::with), unless somebody has the lock.
    #[inline]
    pub(super) fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _held = self.gate.try_lock()?;
        Some(self.value.with_mut(|value| {
            // SAFETY: the lock keeps others away.
            f(unsafe { &mut *value })
        }))
    }
}
