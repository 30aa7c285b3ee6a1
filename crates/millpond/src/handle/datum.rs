//! The block behind a handle: the issuing scope's data about a datum, and its first version.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use super::bound::Bound;
use super::claim::NESTED;
use super::reduction::Reduction;
use super::version::Version;
use crate::depend::Mode;
use crate::depend::tracker::{SchemeOps, Tracker};
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::unique_number;
use crate::worker::scope_state::NESTED_EPOCH;

mod lend;
mod whole;
pub(crate) use whole::Whole;
pub(super) use whole::free_first;

/// The block that a handle points to. It holds the issuer's data, and only the scope that owns the
/// claim touches it.
///
/// Most data have their first version in the same block ([`Whole`]). A parent that is a compact
/// task in a stack has separate data, whose current versions are its parent's: [`Datum::view`].
///
/// The code that makes a datum puts it at the start of a cache line.
#[repr(C)]
#[derive(Debug)]
pub struct Datum {
    /// Only the issuer uses what it reads here. Atomic, because the spawn of a scope that cannot
    /// have the datum may read it, too.
    current: AtomicPtr<Version>,
    /// The scope that may issue, or the readers outside of scopes ([`lend`]). 0: none of them.
    claim: AtomicU64,
    /// The last access: the task's order in its scope, and the position among its accesses (16
    /// bits). Or only the order and [`COMPACT`].
    last_use: Cell<u64>,
    /// The `Reduction` that the youngest generation feeds, if that is a generation of `reduce`.
    /// Untyped, like `Worker::shared`.
    reduction: Cell<Option<NonNull<()>>>,
    scheme: Cell<Option<&'static SchemeOps>>,
    group: Cell<u32>,
    /// The number of owners of the block: the handle, the first version, reductions. Plus the bits
    /// `REDUCING` and `ORPHAN`.
    parts: AtomicU32,
    mode: Cell<Option<Mode>>,
    /// The datum is *quiet*: its current version is idle and produced, no reduction is open, and
    /// only inline leaves have used the version since the issuer saw that.
    quiet: Cell<bool>,
    /// Whether it belongs to a nested task's frame. No handle frees such a datum.
    held: bool,
    /// Whether its version belongs to an enclosing scope's datum.
    view: bool,
    /// Its number in recordings, assigned at the first recorded use. 0: none yet.
    number: Cell<u32>,
    /// The epoch (`ScopeState::epoch`) in which the claiming scope noted the datum. In that epoch,
    /// a leaf or a parent in a stack may use the datum without a check: its version is noted, and
    /// no task needs the number of an open generation. 0: never. Other scopes may read it, but
    /// never find their own epoch.
    seen_in: AtomicU64,
}

/// The version that a `write` goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// A version that no task uses, idle or new: the write need not wait. Holds the old version if
    /// the caller must free it. The caller frees it after all other updates, because dropping its
    /// value may run any code.
    Own(Option<NonNull<Version>>),
    /// A version with outstanding accesses: the write is ordered like an `inout`.
    Shared,
}

impl Datum {
    /// Makes a datum through which a nested task uses its parent's version directly. It counts as
    /// noted: the frame's tasks use it without a check in the scope's first epoch.
    #[inline(always)]
    pub(crate) fn view(version: NonNull<Version>, scheme: &'static SchemeOps) -> Datum {
        let view = Datum { view: true, ..Datum::new(true) };
        view.set_current(version);
        view.claim_new(NESTED, scheme);
        view.set_seen(NESTED_EPOCH, Mode::Inout);
        view
    }

    /// Points the view at another version. The body of its task has pushed nothing.
    #[inline(always)]
    pub(crate) fn renew_view(&self, version: NonNull<Version>) {
        self.set_current(version);
        self.renew_seen(NESTED_EPOCH);
    }

    /// Like `set_seen`, for a datum that is as it was made.
    #[inline(always)]
    fn renew_seen(&self, epoch: u64) {
        self.seen_in.store(epoch, Ordering::Relaxed);
    }

    #[inline(always)]
    fn new(held: bool) -> Datum {
        Datum {
            current: AtomicPtr::new(NonNull::dangling().as_ptr()),
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

    /// Whether its version belongs to an enclosing scope's datum.
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
        let current = self.current.load(Ordering::Relaxed);
        // SAFETY: only pointers that are not null are stored.
        unsafe { NonNull::new_unchecked(current) }
    }

    #[inline]
    fn set_current(&self, version: NonNull<Version>) {
        self.current.store(version.as_ptr(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn version(&self) -> &Version {
        // SAFETY: the current version is not retired, so it lives.
        unsafe { self.current().as_ref() }
    }

    /// Whether scope `scope` owns the claim, and so may issue.
    #[inline]
    pub(crate) fn is_claimed_by(&self, scope: u64) -> bool {
        self.claim.load(Ordering::Relaxed) == scope
    }

    /// Claims the datum for a scope. Succeeds if no scope has claimed it, or if it is idle and the
    /// claiming scope cannot be issuing now. Fails while the value is lent.
    #[cold]
    pub(crate) fn claim<T: Tracker>(&self, scope: u64, tracker: T) -> bool {
        let Some(owner) = lend::take(&self.claim, scope, super::claim::is_free_to_take) else { return false };
        if !self.is_idle() {
            // Restoring the claim is safe: only this thread could have issued on the datum (in a
            // scope further out).
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

    /// Claims a datum that no other code knows.
    #[inline(always)]
    pub(crate) fn claim_new(&self, scope: u64, scheme: &'static SchemeOps) {
        self.claim.store(scope, Ordering::Relaxed);
        self.scheme.set(Some(scheme));
    }

    /// Drops the scheme's data about past accesses. The current version is idle, and this thread
    /// issues.
    pub(crate) fn forget_accesses(&self) {
        self.seen_in.store(0, Ordering::Relaxed);
        if let Some(scheme) = self.scheme.get() {
            // SAFETY: no thread issues on the scheme's data. The version is idle, so no other
            // thread frees it.
            unsafe { (scheme.forget)(self.version().meta()) };
        }
        // SAFETY: no other thread issues, and no access is outstanding.
        unsafe { self.version().meta().reset() };
    }

    /// Whether no access is outstanding and no reduction open.
    pub(crate) fn is_idle(&self) -> bool {
        // In this order: the scope that closes a reduction first issues its combine task. So a
        // thread that sees the bit cleared also sees that access in the scheme.
        self.parts.load(Ordering::Acquire) & REDUCING == 0
            && self.scheme.get().is_none_or(|scheme| (scheme.is_idle)(self.version().meta()))
    }

    /// Its number in recordings: the lower half of a unique number, which repeats after 4 · 10⁹.
    /// Only for the thread that issues.
    #[cold]
    pub(crate) fn number(&self) -> u64 {
        while self.number.get() == 0 {
            self.number.set(unique_number() as u32);
        }
        self.number.get().into()
    }

    /// Notes an access at position `arg` of the task at `order`. If the task already has another
    /// access, returns the position of the first one. The same position may be noted again, because
    /// a spawn that cannot run its leaf inline checks twice.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn note_use(&self, order: u64, arg: usize) -> Option<usize> {
        let (last, this) = (self.last_use.get(), ((order + 1) << ARG_BITS) | (arg as u64).min(ARG_MASK));
        if last >> ARG_BITS == order + 1 && (last != this || arg as u64 >= ARG_MASK) {
            return Some((last & ARG_MASK) as usize);
        }
        self.last_use.set(this);
        None
    }

    /// Notes an access of the task at `order`, which is being pushed to a stack. Returns false if
    /// the task already has another one. `note_use` ignores such a note: if the task is prepared
    /// after all, it starts over.
    #[inline(always)]
    pub(crate) fn note_compact(&self, order: u64) -> bool {
        let is_first = self.last_use.get() != COMPACT | order;
        self.last_use.set(COMPACT | order);
        is_first
    }

    /// Whether scope `scope` owns the claim and the datum is quiet: then an inline leaf may use it
    /// in any mode.
    #[inline]
    pub(crate) fn is_quiet_for(&self, scope: u64) -> bool {
        self.is_claimed_by(scope) && self.quiet.get()
    }

    /// Whether an inline leaf may use the datum now in this mode, as if it had been issued and
    /// granted. Only for the thread that issues. It issues nothing until the leaf has finished.
    pub(crate) fn is_free<T: Tracker>(&self, tracker: T, mode: Mode) -> bool {
        let version = self.version();
        let meta = version.meta();
        if self.reduction().is_some() {
            return false;
        }
        if tracker.is_idle(meta) {
            return self.is_free_if_idle(mode);
        }
        mode == Mode::Read && tracker.is_ready(meta, mode) && version.is_produced()
    }

    /// As [`is_free`](Datum::is_free), for a datum that the caller has seen idle. So it sees the
    /// failure of an earlier task, which is recorded before the task's release.
    pub(crate) fn is_free_if_idle(&self, mode: Mode) -> bool {
        self.quiet.set(self.version().is_produced());
        // In place: an idle version needs no renaming.
        self.quiet.get() || mode == Mode::Write
    }

    /// Records that an inline leaf failed and produced nothing.
    pub(crate) fn disturb(&self) {
        self.quiet.set(false);
    }

    /// Adds an access of `mode` to the count of generations. Returns the number of its generation.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn enter_group(&self, mode: Mode) -> u32 {
        self.quiet.set(false);
        self.seen_in.store(0, Ordering::Relaxed);
        if self.mode.get() != Some(mode) || !mode.shares() {
            self.group.set(self.group.get().wrapping_add(1));
            self.mode.set(Some(mode));
        }
        self.group.get()
    }

    /// Whether the youngest generation has this number.
    pub(crate) fn is_in_generation(&self, group: u32) -> bool {
        self.group.get() == group
    }

    /// Whether the youngest generation is one of this mode.
    #[cold]
    pub(crate) fn is_in_generation_of(&self, mode: Mode) -> bool {
        self.mode.get() == Some(mode)
    }

    /// Whether the scope of this epoch has claimed the datum, and nothing has changed since
    /// `set_seen`.
    #[inline(always)]
    pub(crate) fn is_seen_in(&self, epoch: u64) -> bool {
        self.seen_in.load(Ordering::Relaxed) == epoch
    }

    /// Records that a scope with tasks in a stack has claimed and noted the datum, for `read`,
    /// `write` or `inout`. No task needs the number of such a generation. A later access of another
    /// mode starts a new generation.
    #[inline]
    pub(crate) fn set_seen(&self, epoch: u64, mode: Mode) {
        self.mode.set(Some(mode));
        self.seen_in.store(epoch, Ordering::Relaxed);
    }

    /// The reduction that is open on the datum, if any.
    #[inline]
    pub(crate) fn reduction(&self) -> Option<NonNull<Reduction>> {
        Some(self.reduction.get()?.cast())
    }

    /// Opens a reduction, which keeps the block alive.
    pub(crate) fn open_reduction(&self, reduction: NonNull<Reduction>) {
        self.parts.fetch_add(1 + REDUCING, Ordering::Relaxed);
        self.reduction.set(Some(reduction.cast()));
    }

    /// Closes the open reduction, after its combine task was issued. The next access starts a new
    /// generation.
    ///
    /// # Safety
    ///
    /// Only the scope that issues calls it, while `this` has an open reduction.
    pub(crate) unsafe fn close_reduction(this: NonNull<Datum>) {
        // SAFETY: the reduction keeps the block alive.
        let datum = unsafe { this.as_ref() };
        datum.mode.set(None);
        datum.reduction.set(None);
        if datum.parts.fetch_and(!REDUCING, Ordering::AcqRel) & ORPHAN != 0 {
            // SAFETY: the handle's drop left its part to this scope. The combine task still uses
            // the value, so it is not dropped here.
            let _nothing_dropped = unsafe { Datum::let_go(this) };
        }
    }

    /// Finds the version for a `write`. If the current version is idle, the write reuses it.
    /// Otherwise it gets a new version (TG §3.3). If the handle's owner forbids a new version, or
    /// it does not fit the bound, the write uses the current version in its turn.
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
        let new = (old.kind().rename)(share.flatten());
        let old = self.current();
        self.set_current(new);
        // SAFETY: the old version was current, so it lives until it is retired here.
        let meta = unsafe { old.as_ref() }.meta();
        // SAFETY: this scope issues. It issues nothing more on the old version, which is no longer
        // current.
        Storage::Own(unsafe { tracker.retire(meta) }.then_some(old))
    }
}

/// Bit of `Datum::parts`: a reduction is open, so the scope will still issue its combine task.
const REDUCING: u32 = 1 << 30;
/// Bit of `Datum::parts`: the handle is gone.
const ORPHAN: u32 = 1 << 31;

/// Bit of `Datum::last_use`: a compact task noted the access.
const COMPACT: u64 = 1 << 63;

const ARG_BITS: u32 = 16;
const ARG_MASK: u64 = (1 << ARG_BITS) - 1;
