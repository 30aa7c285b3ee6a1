//! The access record: one access of one task, embedded in the task's block.

use std::ptr::{self, NonNull};

use super::META_SIZE;
use super::TaskRef;
use crate::handle::Version;
use crate::handle::reduction::Reduction;
use crate::mode::Mode;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Guarded, prefetch_for_read, prefetch_for_write, prefetch_line_for_write};

/// One access of one task: 32 bytes in the task's block. So a scheme needs no separate memory
/// ([TG](crate#sources) §4.1.1).
///
/// The runtime writes the record before it calls [`Scheme::issue`](crate::depend::Scheme::issue). A
/// scheme reads the record's mode, task and version, and has two words in it:
///
/// | word | type | when the scheme may use it |
/// |---|---|---|
/// | link ([`link`](Record::link)) | a pointer, atomic | from `issue` until the scheme grants the access. In [`Released::granted`](crate::depend::Released::granted) it points at the next granted record, or is null |
/// | own ([`read_own`](Record::read_own)) | a pointer, not atomic | from `issue` until `release` returns |
///
/// Both words are null at `issue`. After the grant, the link belongs to the runtime.
///
/// ```text
///   0  target    the version, or the reduction that comes before it
///   8  link      the next waiting record (scheme, then exclusion); while the body runs: its private
///                copy
///  16  own       the scheme's, from issue to release
///  24  number    which generation of the datum, for poison; of a reduction's member, which member
///  28  behind    the record's offset from the task's header, in units of 8 bytes (27 bits); whether
///                the access accumulates (1); whether the scheme orders it as an `inout` (1); the
///                declared mode (3)
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Record {
    target: NonNull<()>,
    link: AtomicPtr<()>,
    own: Guarded<*mut ()>,
    number: u32,
    behind: u32,
}

const DECLARED: u32 = 7;
const AS_INOUT: u32 = 8;
const ACCUMULATES: u32 = 16;
const BEHIND_SHIFT: u32 = 5;
const UNIT: usize = 8;

impl Record {
    /// The most accesses of a task. Further records would be too far behind its header.
    pub(crate) const MAX_ACCESSES: usize = (1 << (u32::BITS - BEHIND_SHIFT - 1)) * UNIT / size_of::<Record>();

    /// A record that will be `behind` bytes behind its task's header. The header's address must be
    /// exposed before [`task`](Record::task) is called. The scheme orders the access by its mode,
    /// or as an `inout`.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn new(target: NonNull<()>, behind: usize, number: u32, declared: Mode, as_inout: bool) -> Self {
        let as_inout = if as_inout { AS_INOUT } else { 0 };
        let behind = ((behind / UNIT) as u32) << BEHIND_SHIFT | as_inout | declared as u32;
        Record { target, link: AtomicPtr::default(), own: Guarded::new(ptr::null_mut()), number, behind }
    }

    /// The same record for another place, `behind` bytes behind its task's header. It was not
    /// issued.
    #[cold]
    pub(crate) fn at(&self, behind: usize) -> Self {
        let record = Record::new(self.target, behind, self.number, self.declared(), self.behind & AS_INOUT != 0);
        if self.accumulates() { record.accumulating() } else { record }
    }

    /// The same record, of an accumulating access.
    pub(crate) fn accumulating(mut self) -> Self {
        self.behind |= ACCUMULATES;
        self
    }

    /// Whether the access accumulates.
    pub(crate) fn accumulates(&self) -> bool {
        self.behind & ACCUMULATES != 0
    }

    /// Whether this is a `reduce` access of a leaf that runs at its spawn: its target is the
    /// version, and its link is the part. (A combine task has the same modes, but runs no body.)
    pub(crate) fn is_part_at_spawn(&self) -> bool {
        self.declared() == Mode::Reduce && self.mode() == Mode::Inout
    }

    /// The version, for a leaf that runs at its spawn.
    pub(crate) fn version_at_spawn(&self) -> &Version {
        // SAFETY: all targets of such a leaf are versions, which are current.
        unsafe { self.target.cast().as_ref() }
    }

    /// Prefetches the line of the value, or of the pointer to it. Leaves the scheme's lines to the
    /// scheme.
    #[inline]
    pub(crate) fn prefetch_value(&self) {
        let value = self.target.as_ptr().cast::<u8>().wrapping_add(META_SIZE);
        let value = NonNull::new(value).unwrap_or(self.target.cast());
        // Other processors may use a value that is only read, and a prefetch for writing would take
        // its line away from them.
        if self.mode().shares() { prefetch_for_read(value) } else { prefetch_for_write(value, 1) }
    }

    /// Prefetches the lines of a record and of its task's header. For one of the first accesses,
    /// the header is in the line before. Does not read the record: it would wait for one line
    /// before requesting the other.
    #[inline]
    pub(crate) fn prefetch_task(record: NonNull<Record>) {
        let at = record.as_ptr().cast::<u8>();
        prefetch_line_for_write(at);
        prefetch_line_for_write(at.wrapping_sub(64));
    }

    /// The address of the target: a version, or a reduction.
    pub(crate) fn target(&self) -> usize {
        self.target.addr().get()
    }

    /// The mode by which the scheme orders the access. It is `Inout` for a `write` that cannot
    /// start a new version.
    #[inline]
    pub fn mode(&self) -> Mode {
        if self.behind & AS_INOUT == 0 { self.declared() } else { Mode::Inout }
    }

    /// The mode that the task declared.
    #[inline]
    pub(crate) fn declared(&self) -> Mode {
        Mode::of(self.behind & DECLARED)
    }

    /// The task that declares the access.
    #[inline]
    pub fn task(&self) -> TaskRef {
        let header = ptr::from_ref(self).addr() - (self.behind >> BEHIND_SHIFT) as usize * UNIT;
        // `TaskRef::expose` exposed it when the header got its place.
        let header = ptr::with_exposed_provenance_mut(header);
        TaskRef(NonNull::new(header).expect("a record lies behind its header"))
    }

    /// The access's generation of the datum, counted by the front end.
    #[inline]
    pub(crate) fn group(&self) -> u32 {
        self.reduction().map_or(self.number, Reduction::group)
    }

    /// The index of the task among the members of its reduction.
    pub(crate) fn member(&self) -> u32 {
        debug_assert!(self.declared() == Mode::Reduce);
        self.number
    }

    /// The version that is accessed.
    #[inline]
    pub(crate) fn version(&self) -> &Version {
        match self.reduction() {
            Some(reduction) => reduction.version(),
            // SAFETY: the target of any other access is a version, which lives until this access is
            // released.
            None => unsafe { self.target.cast().as_ref() },
        }
    }

    /// The version, for an access that is no reduction.
    #[inline]
    pub(crate) fn own_version(&self) -> &Version {
        debug_assert!(self.declared() != Mode::Reduce);
        // SAFETY: the target of any access but a reduction is a version. It lives until this access
        // is released.
        unsafe { self.target.cast().as_ref() }
    }

    /// Where the version is, for the code that frees it.
    #[inline]
    pub(crate) fn version_at(&self) -> NonNull<Version> {
        self.reduction().map_or(self.target.cast(), Reduction::version_at)
    }

    /// The reduction for which this task computes a part, or which it combines. Not for a
    /// [part at a spawn](Record::is_part_at_spawn).
    #[inline]
    pub(crate) fn reduction(&self) -> Option<&Reduction> {
        // SAFETY: the target of a `Reduce` access is a reduction. It lives until it is combined,
        // after this access.
        (self.declared() == Mode::Reduce).then(|| unsafe { self.target.cast().as_ref() })
    }

    /// The link: a word for the scheme until it grants the access. The load is relaxed.
    #[inline]
    pub fn link(&self) -> *mut () {
        self.link.load(Ordering::Relaxed)
    }

    /// Sets the link. The store is relaxed: the scheme's lock, or its atomics, must order it.
    ///
    /// # Safety
    ///
    /// The caller is the scheme that the record was issued to, and the access is not granted. If
    /// the scheme returns the record in [`Released::granted`](crate::depend::Released::granted),
    /// the link is null or points at another record that the same release grants.
    #[inline]
    pub unsafe fn write_link(&self, to: *mut ()) {
        self.set_link(to);
    }

    /// The scheme's own word. The load is not atomic.
    ///
    /// # Safety
    ///
    /// The record is issued and not released. No other thread writes the word at the same time.
    #[inline]
    pub unsafe fn read_own(&self) -> *mut () {
        self.own()
    }

    /// Sets the scheme's own word. The store is not atomic.
    ///
    /// # Safety
    ///
    /// The caller is the scheme that the record was issued to. The record is not released. No other
    /// thread reads or writes the word at the same time.
    #[inline]
    pub unsafe fn write_own(&self, to: *mut ()) {
        self.set_own(to);
    }

    /// The number of the version that is accessed. Two outstanding accesses have the same number if
    /// and only if they access the same version. It is the address of the version's `Meta`.
    #[inline]
    pub fn version_id(&self) -> usize {
        self.version_at().addr().get()
    }

    /// `write_link` for the runtime, which also links records that are granted.
    #[inline]
    pub(crate) fn set_link(&self, to: *mut ()) {
        self.link.store(to, Ordering::Relaxed);
    }

    /// Drops the private copy of a task that failed. It drops the value too, unless the task took
    /// it away.
    pub(crate) fn discard_part(&self, full: bool) {
        if let (Some(reduction), Some(part)) = (self.reduction(), NonNull::new(self.link())) {
            self.set_link(std::ptr::null_mut());
            reduction.discard(part, full);
        }
    }

    /// `read_own` for the schemes of this crate.
    #[inline]
    pub(crate) fn own(&self) -> *mut () {
        self.own.get()
    }

    /// `write_own` for the schemes of this crate.
    #[inline]
    pub(crate) fn set_own(&self, to: *mut ()) {
        self.own.set(to);
    }
}
