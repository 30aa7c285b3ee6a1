//! The access record: one access of one task, embedded in the task's block.

use std::ptr::NonNull;

use super::Header;
use crate::depend::Mode;
use crate::handle::Version;
use crate::handle::reduction::Reduction;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Guarded, prefetch_for_write};

/// One access of one task: 32 bytes in the task's block, so that a scheme needs no memory of its own (TG §4.1.1).
///
/// ```text
///   0  target    the version, or the reduction that stands before it
///   8  link      the next waiting record (scheme, then exclusion); while the body runs: its private copy
///  16  task      the task whose access this is
///  24  group     which generation of the datum, for poison
///  28  declared  the mode that the task declared
///  29  ordered   the mode by which the scheme orders it
///  30  last      scheme: last of its generation
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Record {
    target: NonNull<()>,
    link: AtomicPtr<()>,
    task: NonNull<Header>,
    group: u32,
    declared: Mode,
    ordered: Mode,
    last: Guarded<bool>,
}

impl Record {
    pub(crate) fn new(target: NonNull<()>, task: NonNull<Header>, group: u32, declared: Mode, ordered: Mode) -> Self {
        Record { target, link: AtomicPtr::default(), task, group, declared, ordered, last: Guarded::new(false) }
    }

    /// Asks for the lines that a body with this access, and its release, will write.
    #[inline]
    pub(crate) fn prefetch(&self) {
        // A value that is only read may be in use elsewhere: asking for its line would take it away there.
        let bytes = if self.ordered.shares() { 64 } else { size_of::<Version>() };
        prefetch_for_write(self.target.cast(), bytes);
    }

    /// What it points to, as an address: a version, or a reduction.
    pub(crate) fn target(&self) -> usize {
        self.target.addr().get()
    }

    /// The mode by which the scheme orders the access.
    #[inline]
    pub fn mode(&self) -> Mode {
        self.ordered
    }

    /// The mode that the task declared.
    #[inline]
    pub(crate) fn declared(&self) -> Mode {
        self.declared
    }

    /// The task whose access this is.
    #[inline]
    pub(crate) fn task(&self) -> NonNull<Header> {
        self.task
    }

    /// The generation of the datum that the access belongs to, counted by the front end.
    #[inline]
    pub(crate) fn group(&self) -> u32 {
        self.group
    }

    /// The version that is accessed.
    #[inline]
    pub(crate) fn version(&self) -> &Version {
        match self.reduction() {
            Some(reduction) => reduction.version(),
            // SAFETY: the target of any other access is a version, which lives until this access is released.
            None => unsafe { self.target.cast().as_ref() },
        }
    }

    /// The version, of an access that is no reduction.
    #[inline]
    pub(crate) fn own_version(&self) -> &Version {
        debug_assert!(self.declared != Mode::Reduce);
        // SAFETY: the target of any access but a reduction is a version, which lives until this access is released.
        unsafe { self.target.cast().as_ref() }
    }

    /// Where the version is, for who frees it.
    #[inline]
    pub(crate) fn version_at(&self) -> NonNull<Version> {
        self.reduction().map_or(self.target.cast(), Reduction::version_at)
    }

    /// The reduction whose part this task computes, or which it combines.
    #[inline]
    pub(crate) fn reduction(&self) -> Option<&Reduction> {
        // SAFETY: the target of a `Reduce` access is a reduction, which lives until it is combined, after this access.
        (self.declared == Mode::Reduce).then(|| unsafe { self.target.cast().as_ref() })
    }

    /// The link, for whoever holds the record: the scheme until it grants it, then the exclusion, then the body.
    #[inline]
    pub fn link(&self) -> *mut () {
        self.link.load(Ordering::Relaxed)
    }

    /// Sets the link; see [`link`](Record::link).
    #[inline]
    pub fn set_link(&self, to: *mut ()) {
        self.link.store(to, Ordering::Relaxed);
    }

    /// Drops the private copy of a task that failed; its value too unless the task took it away.
    pub(crate) fn discard_part(&self, full: bool) {
        if let (Some(reduction), Some(part)) = (self.reduction(), NonNull::new(self.link())) {
            self.set_link(std::ptr::null_mut());
            reduction.discard(part, full);
        }
    }

    /// Whether the scheme marked the record as the last of its generation.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.last.get()
    }

    /// Marks the record; under the scheme's own protection.
    #[inline]
    pub fn set_last(&self, last: bool) {
        self.last.set(last);
    }
}
