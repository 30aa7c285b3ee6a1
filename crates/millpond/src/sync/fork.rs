//! Forks of the process. The child has one thread: the one that called `fork`. It has no worker of
//! a runtime built before.
//!
//! 1. Forks are numbered: the child's *generation* is one more than the parent's. A runtime keeps
//!    the generation in which it was built. In another generation, its workers do not exist, and
//!    its locks and queues are in an arbitrary state.
//! 2. At a fork, no other thread holds a lock of a static: the forking thread takes them all
//!    before, and both processes release them. No other code holds two of them, so any order will
//!    do.
//!
//! If another call than `fork` makes a child (`vfork`, `posix_spawn`, a bare `clone`), the child
//! counts as its parent.

/// Takes a lock of a static. The drop of the returned value releases it.
pub(crate) type Take = fn() -> Box<dyn std::any::Any>;

#[cfg(not(loom))]
mod imp {
    use std::any::Any;
    use std::cell::RefCell;
    use std::sync::OnceLock;

    use super::Take;
    use crate::sync::global::atomic::{AtomicU32, Ordering};
    use crate::sync::system;

    static GENERATION: AtomicU32 = AtomicU32::new(0);
    static LOCKS: OnceLock<&'static [Take]> = OnceLock::new();

    thread_local! {
        static TAKEN: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    }

    /// The number of forks between the first process that has watched for them and this one.
    #[inline]
    pub(crate) fn generation() -> u32 {
        GENERATION.load(Ordering::Relaxed)
    }

    /// Watches for forks. A forking thread takes these locks, so that no other thread holds one.
    /// Only the first call has an effect.
    pub(crate) fn watch(locks: &'static [Take]) {
        LOCKS.get_or_init(|| {
            system::at_fork(before, in_parent, in_child);
            locks
        });
    }

    extern "C" fn before() {
        let take = |taken: &RefCell<Vec<_>>| {
            taken.borrow_mut().extend(LOCKS.get().into_iter().copied().flatten().map(|take| take()))
        };
        // A thread that is about to end has no place to keep them.
        let _ended = TAKEN.try_with(take);
    }

    extern "C" fn in_parent() {
        let _ended = TAKEN.try_with(|taken| taken.borrow_mut().clear());
    }

    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        in_parent();
    }
}

/// Models do not fork.
#[cfg(loom)]
mod imp {
    pub(crate) fn generation() -> u32 {
        0
    }

    pub(crate) fn watch(_locks: &'static [super::Take]) {}
}

pub(crate) use imp::{generation, watch};
