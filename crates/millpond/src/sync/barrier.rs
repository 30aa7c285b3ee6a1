//! A fence that needs no matching fence in other threads. Where possible, Linux interrupts them
//! (membarrier, about 10 µs), and the other side orders its steps only for the compiler.

#[cfg(all(not(loom), target_os = "linux"))]
mod imp {
    use crate::sync::atomic::{Ordering, fence};
    use std::sync::OnceLock;

    use crate::sync::process;
    use crate::sync::system::{Membarrier, membarrier};

    /// Whether the system interrupts the other threads. If not, both sides need a SeqCst fence. The
    /// answer is always the same.
    pub(crate) fn is_asymmetric() -> bool {
        static ASYMMETRIC: OnceLock<bool> = OnceLock::new();
        *process::once(&ASYMMETRIC, || {
            // ThreadSanitizer does not see the system's barrier.
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

/// Registers the process with the system, if the barrier needs that. It takes no time while the
/// process has one thread, and about 10 ms afterwards. A scope should not pay for that.
pub(crate) fn prepare() {
    is_asymmetric();
}
