//! Accesses of tasks that a stack holds: noted, not ordered, since the stack runs tasks in reference order (DDS §3).
//!
//! What waits for what, a thief finds out (`stack::thief::scan`). Here is only what handles must know: whether a frame uses a version,
//! and who frees one whose handle is gone. A task's end costs nothing here: a frame keeps a list of the versions that it uses,
//! and lets go of them when all its closures have ended (`Frames::end_uses`).
//!
//! 1. The note is the stack's owner's, who writes it without a read-modify-write. Hand-overs of a stack order these writes.
//! 2. `retire` on the owner's thread leaves a mark; the frame's end finds it.
//! 3. On another thread, which a handle may be moved to, there is no mark, since the owner's look at it would need a
//!    fence. If the version is not in use there (acquire), no access can be issued any more: the handle was the only one. Else
//!    the version waits on the stack's list of orphans, if it still is in use under the list's lock, and is freed when the
//!    stack is empty.

use std::cell::Cell;
use std::ptr::NonNull;

use super::{Mode, Released, Scheme};
use crate::stack::Frames;
use crate::sync::tracked::AtomicU32;
use crate::sync::tracked::Ordering::{Acquire, Relaxed, Release};
use crate::task::Record;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self). No member of the family: a stack's scopes use it for their own data.
pub(crate) enum InOrder {}

/// What is kept beside a version.
#[derive(Default)]
pub(crate) struct Noted {
    /// Whether a frame uses it.
    in_use: AtomicU32,
    retired: Cell<bool>,
    /// The stack of the frame.
    frames: Cell<Option<NonNull<Frames>>>,
}

// SAFETY: the cells are the stack's owner's; see the module.
unsafe impl Send for Noted {}
// SAFETY: as above.
unsafe impl Sync for Noted {}

impl Noted {
    #[inline(always)]
    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.load(Relaxed) != 0
    }

    /// Whether no frame uses it; what its tasks did is seen.
    pub(crate) fn is_unused(&self) -> bool {
        self.in_use.load(Acquire) == 0
    }

    /// A frame of this stack uses it.
    pub(crate) fn begin_use(&self, frames: &Frames) {
        self.frames.set(Some(NonNull::from(frames)));
        self.in_use.store(1, Relaxed);
    }

    /// No frame uses it any more; whether the handle is gone, so that the version is the caller's.
    pub(crate) fn end_use(&self) -> bool {
        let retired = self.retired.get();
        // Release: who finds it so on another thread frees the version (3).
        self.in_use.store(0, Release);
        retired
    }
}

// SAFETY: a task whose accesses were noted here is run when all before it have ended, or when a thief has found that
// none of them conflicts (`stack`). Zeros are a version that nobody uses.
unsafe impl Scheme for InOrder {
    type Meta = Noted;
    type Local = ();
    type Shared = ();
    const NAME: &'static str = "stack";

    fn is_idle(meta: &Noted) -> bool {
        if meta.is_unused() {
            return true;
        }
        let frames = meta.frames.get().expect("set with the note");
        // SAFETY: a stack lives as long as its runtime, and a frame of it uses the version.
        let frames = unsafe { frames.as_ref() };
        frames.is_here() && !frames.uses(NonNull::from(meta).cast())
    }

    fn is_ready(meta: &Noted, _mode: Mode) -> bool {
        Self::is_idle(meta)
    }

    fn prefetch(_meta: &Noted, _record: &Record) {}

    unsafe fn issue((): &mut (), _meta: &Noted, _record: &Record) -> bool {
        unreachable!("accesses enter a stack by `Frames::note`")
    }

    unsafe fn release((): &(), (): &mut (), _meta: &Noted, _record: &Record) -> Released {
        unreachable!("a frame releases all of its accesses at once")
    }

    unsafe fn forget(meta: &Noted) {
        if !meta.is_unused() {
            let frames = meta.frames.get().expect("set with the note");
            // SAFETY: as in `is_idle`, which has said that the stack is here.
            unsafe { frames.as_ref() }.forget(meta);
        }
    }

    unsafe fn retire(meta: &Noted) -> bool {
        if meta.is_unused() {
            return true;
        }
        let frames = meta.frames.get().expect("set with the note");
        // SAFETY: as in `is_idle`.
        let frames = unsafe { frames.as_ref() };
        if frames.is_here() {
            meta.retired.set(true);
            return false;
        }
        !frames.adopt_orphan(meta)
    }
}
