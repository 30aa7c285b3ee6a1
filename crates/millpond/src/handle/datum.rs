//! The block behind a handle: what the issuing scope keeps about a datum, and its first version.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use super::bound::Bound;
use super::claim::NESTED;
use super::reduction::Reduction;
use super::version::Version;
use crate::depend::Mode;
use crate::depend::tracker::{SchemeOps, Tracker};
use crate::runtime::scope_state::NESTED_EPOCH;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::unique_number;

mod whole;
pub(crate) use whole::Whole;
pub(super) use whole::free_first;

/// What a handle points at: what its issuer keeps. Touched by the scope that owns the claim.
///
/// Most have their first version beside them ([`Whole`]). A parent that lies in a stack in short form has data of its own in which
/// the versions of its parent's are current: [`Datum::view`].
///
/// Who makes one puts it at the start of a cache line.
#[repr(C)]
#[derive(Debug)]
pub struct Datum {
    current: Cell<NonNull<Version>>,
    /// The scope that may issue; 0: nobody yet.
    claim: AtomicU64,
    /// The last access: the task's order in its scope, and the place among its accesses (16 bits); or only the order, and
    /// [`COMPACT`].
    last_use: Cell<u64>,
    /// The `Reduction` that the youngest generation feeds, if that is a generation of `reduce` (untyped, as `Worker::shared`).
    reduction: Cell<Option<NonNull<()>>>,
    scheme: Cell<Option<&'static SchemeOps>>,
    group: Cell<u32>,
    /// What keeps the block: the handle, the first version, reductions; with the bits `REDUCING` and `ORPHAN`.
    parts: AtomicU32,
    mode: Cell<Option<Mode>>,
    /// The current version is idle and produced, and no reduction is open: since its issuer has seen that, only leaves
    /// that ran at once have used it.
    quiet: Cell<bool>,
    /// It belongs to a nested task's frame, and no handle frees it.
    held: bool,
    /// Its version is that of an enclosing scope's datum.
    view: bool,
    /// Its number in recordings, given at the first use that is recorded; 0: none yet.
    number: Cell<u32>,
    /// The epoch (`ScopeState::epoch`) of the scope that has claimed it, since when a leaf or a parent that a stack holds may use the
    /// datum without a look: its version is noted, and no generation is open whose number anybody asks for. 0: never. Others
    /// may ask, and find no epoch of theirs.
    seen_in: AtomicU64,
}

/// Where a `write` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Into a version that nobody uses, idle or new: it need not wait. The one before, if the caller has to free it:
    /// once everything is in order, since the drop of its value may run any code.
    Own(Option<NonNull<Version>>),
    /// Into that of accesses which are outstanding: it is ordered as an `inout`.
    Shared,
}

impl Datum {
    /// A datum through which a nested task uses its parent's version itself. What its frame's tasks do to it is noted: it need
    /// not be looked at in its scope's first epoch.
    #[inline(always)]
    pub(crate) fn view(version: NonNull<Version>, scheme: &'static SchemeOps) -> Datum {
        let view = Datum { view: true, ..Datum::new(true) };
        view.current.set(version);
        view.claim_new(NESTED, scheme);
        view.set_seen(NESTED_EPOCH, Mode::Inout);
        view
    }

    /// Makes a view of another version of one whose body has laid nothing down.
    #[inline(always)]
    pub(crate) fn renew_view(&self, version: NonNull<Version>) {
        self.current.set(version);
        self.renew_seen(NESTED_EPOCH);
    }

    /// As `set_seen`, of one that is as it was made.
    #[inline(always)]
    fn renew_seen(&self, epoch: u64) {
        self.seen_in.store(epoch, Ordering::Relaxed);
    }

    #[inline(always)]
    fn new(held: bool) -> Datum {
        Datum {
            current: Cell::new(NonNull::dangling()),
            claim: AtomicU64::new(0),
            last_use: Cell::new(0),
            reduction: Cell::new(None),
            scheme: Cell::new(None),
            group: Cell::new(0),
            parts: AtomicU32::new(2),
            mode: Cell::new(None),
            quiet: Cell::new(false),
            held,
            view: false,
            number: Cell::new(0),
            seen_in: AtomicU64::new(0),
        }
    }

    /// Whether its version is that of an enclosing scope's datum.
    pub(crate) fn is_view(&self) -> bool {
        self.view
    }

    /// Whether it belongs to a nested task's frame.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    #[inline]
    pub(crate) fn current(&self) -> NonNull<Version> {
        self.current.get()
    }

    #[inline]
    pub(crate) fn version(&self) -> &Version {
        // SAFETY: the current version is not retired, so it lives.
        unsafe { self.current.get().as_ref() }
    }

    /// Whether scope `scope` may issue: it owns the claim.
    #[inline]
    pub(crate) fn is_claimed_by(&self, scope: u64) -> bool {
        self.claim.load(Ordering::Relaxed) == scope
    }

    /// Claims the datum for a scope: nobody's, or idle and the claim of a scope that cannot be issuing now.
    #[cold]
    pub(crate) fn claim<T: Tracker>(&self, scope: u64, tracker: T) -> bool {
        let owner = self.claim.load(Ordering::Acquire);
        if owner != 0 && !super::claim::is_free_to_take(owner) {
            return false;
        }
        if self.claim.compare_exchange(owner, scope, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        if !self.is_idle() {
            // Only this thread could have issued on it (a scope further out), so it may be put back.
            self.claim.store(owner, Ordering::Release);
            return false;
        }
        self.forget_accesses();
        self.scheme.set(Some(tracker.ops()));
        self.last_use.set(0);
        self.mode.set(None);
        self.quiet.set(false);
        true
    }

    /// Claims a datum that nobody else knows.
    #[inline(always)]
    pub(crate) fn claim_new(&self, scope: u64, scheme: &'static SchemeOps) {
        self.claim.store(scope, Ordering::Relaxed);
        self.scheme.set(Some(scheme));
    }

    /// Lets go of what the scheme has kept of past accesses. The current version is idle, and this thread issues.
    pub(crate) fn forget_accesses(&self) {
        self.seen_in.store(0, Ordering::Relaxed);
        if let Some(scheme) = self.scheme.get() {
            // SAFETY: nothing is issued on what the scheme knows; the version is idle, so nobody else frees it.
            unsafe { (scheme.forget)(self.version().meta()) };
        }
        // SAFETY: nobody else issues, and no access is outstanding.
        unsafe { self.version().meta().reset() };
    }

    /// Whether no access is outstanding and no reduction open.
    pub(crate) fn is_idle(&self) -> bool {
        // In this order: the scope that closes a reduction has issued its combine task before, so whoever sees the
        // bit gone sees that access in the scheme.
        self.parts.load(Ordering::Acquire) & REDUCING == 0
            && self.scheme.get().is_none_or(|scheme| (scheme.is_idle)(self.version().meta()))
    }

    /// Its number in recordings: the lower half of a unique one, which comes again after 4 · 10⁹. For the thread that issues.
    #[cold]
    pub(crate) fn number(&self) -> u64 {
        while self.number.get() == 0 {
            self.number.set(unique_number() as u32);
        }
        self.number.get().into()
    }

    /// Notes an access by place `arg` of the task at `order`; the first place if the task has another one already. The
    /// same place may be noted again: a spawn that cannot run its leaf at once looks twice.
    #[inline]
    pub(crate) fn note_use(&self, order: u64, arg: usize) -> Option<usize> {
        let (last, this) = (self.last_use.get(), ((order + 1) << ARG_BITS) | (arg as u64).min(ARG_MASK));
        if last >> ARG_BITS == order + 1 && (last != this || arg as u64 >= ARG_MASK) {
            return Some((last & ARG_MASK) as usize);
        }
        self.last_use.set(this);
        None
    }

    /// Notes an access of the task at `order`, which is being laid down in a stack; false if the task has another one already.
    /// `note_use` does not know such a note: it begins anew, if the task is prepared after all.
    #[inline(always)]
    pub(crate) fn note_compact(&self, order: u64) -> bool {
        let is_first = self.last_use.get() != COMPACT | order;
        self.last_use.set(COMPACT | order);
        is_first
    }

    /// Whether scope `scope` owns the claim, and a leaf that runs at once may use the datum in any mode.
    #[inline]
    pub(crate) fn is_quiet_for(&self, scope: u64) -> bool {
        self.is_claimed_by(scope) && self.quiet.get()
    }

    /// Whether a leaf may use the datum now, in this mode, as if it had been issued and granted. For the thread that
    /// issues, which issues nothing until the leaf has ended.
    pub(crate) fn is_free<T: Tracker>(&self, tracker: T, mode: Mode) -> bool {
        let version = self.version();
        let meta = version.meta();
        if self.reduction().is_some() {
            return false;
        }
        if tracker.is_idle(meta) {
            // In this order: a task that failed has said so before its release.
            self.quiet.set(version.is_produced());
            // In place: an idle version needs no renaming.
            return self.quiet.get() || mode == Mode::Write;
        }
        mode == Mode::Read && tracker.is_ready(meta, mode) && version.is_produced()
    }

    /// A leaf that ran at once has failed, and produced nothing.
    pub(crate) fn disturb(&self) {
        self.quiet.set(false);
    }

    /// Enters an access of `mode` into the count of generations; the number of the one that it belongs to.
    #[inline]
    pub(crate) fn enter_group(&self, mode: Mode) -> u32 {
        self.quiet.set(false);
        self.seen_in.store(0, Ordering::Relaxed);
        if self.mode.get() != Some(mode) || !mode.shares() {
            self.group.set(self.group.get().wrapping_add(1));
            self.mode.set(Some(mode));
        }
        self.group.get()
    }

    /// Whether the youngest generation is one of this mode.
    #[cold]
    pub(crate) fn is_in_generation_of(&self, mode: Mode) -> bool {
        self.mode.get() == Some(mode)
    }

    /// Whether the scope whose epoch that is has claimed the datum, and nothing has changed since `set_seen`.
    #[inline(always)]
    pub(crate) fn is_seen_in(&self, epoch: u64) -> bool {
        self.seen_in.load(Ordering::Relaxed) == epoch
    }

    /// A scope whose tasks a stack holds has claimed and noted the datum, for an access of `read`, `write` or `inout`:
    /// nobody asks for its generation, and what comes later with another mode is not of an earlier one.
    #[inline]
    pub(crate) fn set_seen(&self, epoch: u64, mode: Mode) {
        self.mode.set(Some(mode));
        self.seen_in.store(epoch, Ordering::Relaxed);
    }

    /// The reduction that is open on the datum.
    #[inline]
    pub(crate) fn reduction(&self) -> Option<NonNull<Reduction>> {
        Some(self.reduction.get()?.cast())
    }

    /// Opens a reduction; it keeps the block.
    pub(crate) fn open_reduction(&self, reduction: NonNull<Reduction>) {
        self.parts.fetch_add(1 + REDUCING, Ordering::Relaxed);
        self.reduction.set(Some(reduction.cast()));
    }

    /// Closes the open reduction, whose combine task was issued: what comes next starts a new generation.
    ///
    /// # Safety
    ///
    /// Only the scope that issues calls it, while `this` has an open reduction.
    pub(crate) unsafe fn close_reduction(this: NonNull<Datum>) {
        // SAFETY: the reduction keeps the block.
        let datum = unsafe { this.as_ref() };
        datum.mode.set(None);
        datum.reduction.set(None);
        if datum.parts.fetch_and(!REDUCING, Ordering::AcqRel) & ORPHAN != 0 {
            // SAFETY: the handle's drop left its part to us. The value is still in use by the combine task, so it is
            // not dropped here.
            let _nothing_dropped = unsafe { Datum::let_go(this) };
        }
    }

    /// Finds the storage of a `write`: a new version (TG §3.3), unless the current one is idle and can be used again.
    /// Or the handle's owner forbids a new one, or it does not fit the bound: then that of the current one, in its turn.
    #[inline]
    #[must_use]
    pub(crate) fn rename<T: Tracker>(&self, tracker: T, bound: Option<&Arc<Bound>>) -> Storage {
        if tracker.is_idle(self.version().meta()) { Storage::Own(None) } else { self.rename_busy(tracker, bound) }
    }

    fn rename_busy<T: Tracker>(&self, tracker: T, bound: Option<&Arc<Bound>>) -> Storage {
        let old = self.version();
        if old.is_in_place() {
            return Storage::Shared;
        }
        let share = bound.map(|bound| bound.take(old.kind().counted_size));
        if let Some(None) = share {
            return Storage::Shared;
        }
        let old = self.current.replace((old.kind().rename)(share.flatten()));
        // SAFETY: the old version was current, so it lives until it is retired here.
        let meta = unsafe { old.as_ref() }.meta();
        // SAFETY: this scope issues, and nothing more on the old version, which is current no longer.
        Storage::Own(unsafe { tracker.retire(meta) }.then_some(old))
    }
}

/// Bit of `Datum::parts`: a reduction is open, so the scope will still issue its combine task.
const REDUCING: u32 = 1 << 30;
/// Bit of `Datum::parts`: the handle is gone.
const ORPHAN: u32 = 1 << 31;

/// Mark of `Datum::last_use`.
const COMPACT: u64 = 1 << 63;

const ARG_BITS: u32 = 16;
const ARG_MASK: u64 = (1 << ARG_BITS) - 1;
