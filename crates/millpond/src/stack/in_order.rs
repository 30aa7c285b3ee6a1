//! Accesses of tasks in a stack. They are noted but not ordered, because the stack runs tasks in
//! reference order (DDS §3).
//!
//! A thief finds out which tasks wait for which (`stack::thief::scan`). This module holds only what
//! handles must know: whether a frame uses a version, and which code frees a version whose handle
//! is gone. The end of a task costs nothing here. The stack keeps a list of its versions in use. It
//! releases those of a frame when all the frame's closures have ended (`Frames::end_uses`).
//!
//! 1. The stack's owner writes the note, without a read-modify-write. Hand-overs of the stack order
//!    these writes.
//! 2. `retire` on the owner's thread sets a mark. The end of the frame finds it.
//! 3. A handle may move to another thread. There, `retire` sets no mark, because the owner would
//!    need a fence to read it. If the version is not in use then (acquire), no access can be issued
//!    any more: the handle was the only one. Otherwise `retire` takes the lock of the stack's list
//!    of orphans. If the version is still in use, it goes on that list, and is freed when the empty
//!    stack is completed or closed.

use std::cell::Cell;
use std::ptr::NonNull;

use super::Frames;
use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::AtomicU32;
use crate::sync::tracked::Ordering::{Acquire, Relaxed, Release};
use crate::task::Record;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self). It is not in the scheme catalogue: a stack's scopes use it for their own
/// data.
pub(crate) enum InOrder {}

/// The scheme's data in a version.
#[derive(Default)]
pub(crate) struct Noted {
    /// Whether a frame uses the version.
    in_use: AtomicU32,
    retired: Cell<bool>,
    /// The stack of the frame.
    frames: Cell<Option<NonNull<Frames>>>,
}

// SAFETY: only the stack's owner uses the cells. See the module.
unsafe impl Send for Noted {}
// SAFETY: as above.
unsafe impl Sync for Noted {}

impl Noted {
    #[inline(always)]
    pub(crate) fn is_in_use(&self) -> bool {
        self.in_use.load(Relaxed) != 0
    }

    /// Whether no frame uses the version. If so, the effects of its tasks are visible.
    pub(crate) fn is_unused(&self) -> bool {
        self.in_use.load(Acquire) == 0
    }

    /// Notes that a frame of this stack uses the version.
    pub(crate) fn begin_use(&self, frames: &Frames) {
        self.frames.set(Some(NonNull::from(frames)));
        self.in_use.store(1, Relaxed);
    }

    /// Notes that no frame uses the version any more. Returns whether the handle is gone, so that
    /// the caller owns the version.
    pub(crate) fn end_use(&self) -> bool {
        let retired = self.retired.get();
        // Release: another thread that reads 0 frees the version (3).
        self.in_use.store(0, Release);
        retired
    }
}

// SAFETY: a task whose accesses were noted here runs when all earlier tasks have ended, or when a
// thief has found that none of them conflicts (`stack`). Zeros are an unused version.
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
        // SAFETY: a stack lives as long as its runtime, and one of its frames uses the version.
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
            // SAFETY: as in `is_idle`, which said that the stack is on this thread.
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
