//! A fence that other threads need not answer by one of their own: Linux interrupts them (membarrier, some 10 µs), where that is
//! possible. The other side orders its steps for the compiler only.

#[cfg(all(not(loom), target_os = "linux"))]
mod imp {
    use crate::sync::atomic::{Ordering, fence};
    use std::sync::OnceLock;

    use crate::sync::system::{Membarrier, membarrier};

    /// Whether the system interrupts for us; else both sides need a SeqCst fence. Always the same.
    pub(crate) fn is_asymmetric() -> bool {
        static ASYMMETRIC: OnceLock<bool> = OnceLock::new();
        *ASYMMETRIC.get_or_init(|| {
            // A sanitizer sees no barrier of the system.
            !cfg!(millpond_tsan) && membarrier(Membarrier::Register)
        })
    }

    pub(crate) fn heavy() {
        if is_asymmetric() {
            assert!(membarrier(Membarrier::Heavy), "the process is registered");
        } else {
            fence(Ordering::SeqCst);
        }
    }
}

#[cfg(any(loom, not(target_os = "linux")))]
mod imp {
    use crate::sync::atomic::{Ordering, fence};

    pub(crate) fn is_asymmetric() -> bool {
        false
    }

    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }
}

pub(crate) use imp::{heavy, is_asymmetric};

/// Registers the process with the system, if that is how it is done: at once while it has one thread, and in some 10 ms
/// afterwards, which should not be a scope's.
pub(crate) fn prepare() {
    is_asymmetric();
}
