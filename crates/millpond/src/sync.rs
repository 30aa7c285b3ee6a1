//! The only file that names std's atomics and locks. It uses std normally, and loom under
//! `--cfg loom`. Under `--cfg millpond_yields`, atomics and locks wait at random (`sync::yields`).
//! Under `--cfg millpond_counted`, their writes to shared cache lines are counted (`sync::lines`).

#[cfg(not(any(loom, millpond_yields, millpond_counted)))]
pub(crate) use std::sync::{Arc, atomic};

#[cfg(all(any(millpond_yields, millpond_counted), not(loom)))]
pub(crate) use std::sync::Arc;

#[cfg(all(any(millpond_yields, millpond_counted), not(loom)))]
#[path = "sync/hooked.rs"]
pub(crate) mod atomic;

#[cfg(loom)]
pub(crate) use loom::sync::{Arc, atomic};

/// No machine executes it, so no model has it.
pub(crate) use std::sync::atomic::compiler_fence;

/// The atomics of dependence tracking and of spin locks. A counting build has its own form.
#[cfg(not(millpond_counted))]
pub(crate) use atomic as tracked;

#[cfg(millpond_counted)]
#[path = "sync/counted.rs"]
pub(crate) mod tracked;

pub(crate) mod barrier;
mod faults;
#[cfg(millpond_counted)]
pub(crate) mod lines;
mod locked;
pub(crate) mod process;
pub(crate) mod system;
#[cfg(all(millpond_yields, not(loom)))]
mod yields;
#[cfg(feature = "catalogue")]
pub(crate) use locked::Locked;
pub(crate) use locked::Spinning;

#[cfg(not(loom))]
mod lock {
    use std::time::Duration;

    /// A mutex that ignores std's poisoning: the runtime never unwinds while it holds one.
    #[derive(Default, Debug)]
    pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Mutex(std::sync::Mutex::new(value))
        }

        #[track_caller]
        pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, T> {
            #[cfg(millpond_yields)]
            super::yields::perhaps_wait();
            #[cfg(millpond_counted)]
            super::lines::write(std::ptr::from_ref(self).addr());
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<std::sync::MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(std::sync::TryLockError::Poisoned(error)) => Some(error.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => None,
            }
        }
    }

    pub(crate) use std::sync::MutexGuard;

    /// A condition variable of that mutex.
    #[derive(Default, Debug)]
    pub(crate) struct Condvar(std::sync::Condvar);

    impl Condvar {
        pub(crate) fn wait<'a, T>(&self, guard: std::sync::MutexGuard<'a, T>) -> std::sync::MutexGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        /// Like `wait`, but for `at_most` at most. Returns whether it was notified.
        pub(crate) fn wait_for<'a, T>(
            &self,
            guard: std::sync::MutexGuard<'a, T>,
            at_most: Duration,
        ) -> (std::sync::MutexGuard<'a, T>, bool) {
            let result = self.0.wait_timeout(guard, at_most).unwrap_or_else(std::sync::PoisonError::into_inner);
            (result.0, !result.1.timed_out())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

#[cfg(loom)]
mod lock {
    use std::time::Duration;

    /// Loom's mutex, with the interface of the others.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn try_lock(&self) -> Option<loom::sync::MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    pub(crate) use loom::sync::MutexGuard;

    /// Loom's condition variable, with the interface of the others.
    #[derive(Default, Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn wait<'a, T>(&self, guard: loom::sync::MutexGuard<'a, T>) -> loom::sync::MutexGuard<'a, T> {
            self.0.wait(guard).unwrap()
        }

        /// Like `wait`: a model has no time.
        pub(crate) fn wait_for<'a, T>(
            &self,
            guard: loom::sync::MutexGuard<'a, T>,
            _at_most: Duration,
        ) -> (loom::sync::MutexGuard<'a, T>, bool) {
            (self.wait(guard), true)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

pub(crate) use lock::{Condvar, Mutex, MutexGuard};

/// Locks and atomics of statics. Loom models do not see them: a loom object lives no longer than
/// one execution.
#[cfg(not(loom))]
pub(crate) mod global {
    pub(crate) use super::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic;
}

#[cfg(loom)]
pub(crate) mod global {
    pub(crate) use std::sync::{MutexGuard, atomic};

    /// Std's mutex, with the interface of the others.
    #[derive(Default, Debug)]
    pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Mutex(std::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}

/// A cell touched by one thread at a time, as the surrounding protocol promises. Loom checks the
/// promise.
#[cfg(not(loom))]
pub(crate) use std::cell::Cell as Guarded;

#[cfg(loom)]
pub(crate) use guarded::Guarded;

/// A value guarded by a lock, and reached through a pointer. Loom checks that one thread at a time
/// reaches it.
#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// Std's cell, with the interface of loom's.
#[cfg(not(loom))]
#[derive(Default)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
mod guarded {
    use loom::cell::UnsafeCell;

    /// Loom's cell, with the interface of std's.
    #[derive(Debug)]
    pub(crate) struct Guarded<T>(UnsafeCell<T>);

    impl<T: Default> Default for Guarded<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Guarded<T> {
        pub(crate) fn new(value: T) -> Self {
            Guarded(UnsafeCell::new(value))
        }

        pub(crate) fn replace(&self, value: T) -> T {
            // SAFETY: loom fails the model if another thread touches the cell without an order
            // between them. No reference to the value lasts longer than this.
            self.0.with_mut(|old| std::mem::replace(unsafe { &mut *old }, value))
        }

        pub(crate) fn set(&self, value: T) {
            self.replace(value);
        }

        pub(crate) fn take(&self) -> T
        where
            T: Default,
        {
            self.replace(T::default())
        }

        pub(crate) fn get(&self) -> T
        where
            T: Copy,
        {
            // SAFETY: as in `replace`.
            self.0.with(|value| unsafe { *value })
        }
    }
}

/// A SeqCst fence in models, because loom treats SeqCst loads and read-modify-writes as acquire and
/// release. Elsewhere it does nothing: there, the SeqCst operations on both sides of it are enough.
#[inline(always)]
pub(crate) fn fence_of_models() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// A number that this process gives only once. It distinguishes a value from a later one at the
/// same address. It does not use loom's atomics, because it orders nothing.
pub(crate) fn unique_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// One turn of a wait for a spin lock that its holder always releases. Under loom, the execution
/// ends here: in another execution, the thread reaches the lock when it is free, and does the same.
#[inline]
pub(crate) fn spin_for_lock() {
    #[cfg(loom)]
    loom::skip_branch();
    spin_loop();
}

/// One turn of a spin loop. Under loom it yields, so that the model ends.
#[inline]
pub(crate) fn spin_loop() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// One turn of a wait for a few steps of another thread, which the system may have suspended.
pub(crate) fn yield_thread() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Prefetches a cache line to be read soon. Only a hint.
#[inline(always)]
pub(crate) fn prefetch_for_read(at: std::ptr::NonNull<u8>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint. It touches no memory that the program can see, and does not fault at any
    // address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.as_ptr().cast())
    };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _no_hint = at;
}

/// Asks the system for huge pages, before the memory is used. Only a hint.
pub(crate) fn prefer_huge_pages(start: std::ptr::NonNull<u8>, bytes: usize) {
    system::advise_huge_pages(start, bytes);
}

/// Prefetches cache lines to be written soon. Only a hint.
#[inline(always)]
pub(crate) fn prefetch_for_write(start: std::ptr::NonNull<u8>, bytes: usize) {
    for line in (0..bytes).step_by(64) {
        prefetch_line_for_write(start.as_ptr().wrapping_add(line));
    }
}

/// Prefetches the one line of an address, even if there is no memory.
#[inline(always)]
pub(crate) fn prefetch_line_for_write(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // The intrinsic would request a shared copy, because the compiler does not assume that this
    // instruction exists. On processors without it (Intel before 2014), it does nothing. SAFETY: a
    // hint. It touches no memory that the program can see, and does not fault at any address.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly))
    };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _no_hint = at;
}
