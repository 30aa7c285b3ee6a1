//! Forks of the process. The child has one thread: the one that called `fork`. It has no worker of
//! a runtime built before.
//!
//! 1. Forks are numbered: the child's *generation* is one more than the parent's. A runtime keeps
//!    the generation in which it was built. In another generation, its workers do not exist, and
//!    its locks and queues are in an arbitrary state.
//! 2. At a fork, no other thread holds a lock of a static: the forking thread takes them all
//!    before, and both processes release them. No other code holds two of them, so any order will
//!    do.
//! 3. At a fork, no other thread initializes a static. In the child, the initialization would never
//!    end, and the next use of the static would wait for it. So each one holds a lock (`once`),
//!    which step 2 includes.
//!
//! If another call than `fork` makes a child (`vfork`, `posix_spawn`, a bare `clone`), the child
//! counts as its parent.

/// Takes a lock of a static. The drop of the returned value releases it.
pub(crate) type Take = fn() -> Box<dyn std::any::Any>;

use std::sync::OnceLock;

use crate::sync::global::Mutex;

/// Held while a static is initialized.
static INITIALIZING: Mutex<()> = Mutex::new(());

/// The value of a static. The first call makes it. `make` uses no other such static and takes no
/// lock of one.
pub(crate) fn once<T>(value: &'static OnceLock<T>, make: impl FnOnce() -> T) -> &'static T {
    if let Some(made) = value.get() {
        return made;
    }
    let _no_fork_meanwhile = INITIALIZING.lock();
    value.get_or_init(make)
}

#[cfg(not(loom))]
mod imp {
    use std::any::Any;
    use std::cell::RefCell;
    use std::ptr;

    use super::{INITIALIZING, Take};
    use crate::sync::global::atomic::{AtomicPtr, AtomicU32, Ordering};
    use crate::sync::system;

    static GENERATION: AtomicU32 = AtomicU32::new(0);
    /// The locks to take, a `&'static [Take]` in a static; null before the first `watch`.
    static LOCKS: AtomicPtr<&'static [Take]> = AtomicPtr::new(ptr::null_mut());

    thread_local! {
        /// The locks that this thread holds over a fork.
        static TAKEN: RefCell<Option<Vec<Box<dyn Any>>>> = const { RefCell::new(None) };
    }

    /// The number of forks between the first process that has watched for them and this one.
    #[inline]
    pub(crate) fn generation() -> u32 {
        GENERATION.load(Ordering::Relaxed)
    }

    /// Watches for forks. The thread that forks takes these locks, so that no other thread holds
    /// one. Only the first call has an effect.
    pub(crate) fn watch(locks: &'static &'static [Take]) {
        if !LOCKS.load(Ordering::Acquire).is_null() {
            return;
        }
        // If two threads come here, the handlers are called twice at a fork: the second call finds
        // the locks taken.
        system::at_fork(before, in_parent, in_child);
        LOCKS.store(ptr::from_ref(locks).cast_mut(), Ordering::Release);
    }

    extern "C" fn before() {
        let take = |taken: &RefCell<Option<Vec<Box<dyn Any>>>>| {
            let mut taken = taken.borrow_mut();
            if taken.is_some() {
                return;
            }
            // SAFETY: null, or a reference that `watch` has stored.
            let locks = unsafe { LOCKS.load(Ordering::Acquire).as_ref() };
            let mut all: Vec<Box<dyn Any>> = vec![Box::new(INITIALIZING.lock())];
            all.extend(locks.into_iter().copied().flatten().map(|take| take()));
            *taken = Some(all);
        };
        // A thread that is about to end has no place to keep them.
        let _ended = TAKEN.try_with(take);
    }

    extern "C" fn in_parent() {
        let _ended = TAKEN.try_with(|taken| drop(taken.take()));
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

    pub(crate) fn watch(_locks: &'static &'static [super::Take]) {}
}

pub(crate) use imp::{generation, watch};

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// With a plain `get_or_init`, the child waits for a thread that only its parent has.
    #[test]
    fn a_child_finds_no_static_half_initialized() {
        static VALUE: OnceLock<u32> = OnceLock::new();
        watch(&crate::worker::after_fork::LOCKS);
        let (begun, has_begun) = mpsc::channel();
        let other = thread::spawn(move || {
            once(&VALUE, || {
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(100));
                7
            });
        });
        has_begun.recv().unwrap();
        // SAFETY: the child only reads the static, and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: no pointers. The signal ends a child that hangs.
            unsafe { libc::alarm(20) };
            let value = once(&VALUE, || 8);
            // SAFETY: ends the process.
            unsafe { libc::_exit((*value != 7).into()) };
        }
        let mut status = -1;
        // SAFETY: a child, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(status, 0, "the child has read another value, or hangs");
        other.join().unwrap();
    }
}
