//! Versions: storage and metadata of a datum between two renamings (TG §3.2).

use std::cell::Cell;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::{self, NonNull};

use super::bound::Share;
use super::datum::Datum;
use super::exclusion::Exclusion;
use super::storage;
use crate::depend::Meta;
use crate::error::Error;
use crate::panics::{PanicPayload, catch};
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use crate::sync::global::Mutex;

/// Storage and dependence metadata of a datum. The access records of tasks point to it.
///
/// A version starts at a cache line. The scheme's metadata fill that line, because the issuer and
/// releasing workers both write them. A small value is in the next line, together with the fields
/// that lead to it.
#[repr(C)]
#[derive(Debug)]
pub struct Version {
    meta: Meta,
    /// The address of the value: behind this head, or in the storage of an enclosing task's
    /// version.
    value: Cell<NonNull<()>>,
    /// `UNSET`, `PRODUCED`, or the failure (`Error::into_raw`) that left no value.
    state: AtomicPtr<()>,
    pub(crate) exclusion: Exclusion,
    kind: Cell<&'static VersionKind>,
    /// The generation whose member failed. Meaningful while `state` is a failure.
    failed_group: AtomicU32,
    allocation: Allocation,
    /// Whether the storage holds a value that must be dropped, valid for readers or not.
    full: Cell<bool>,
    /// Whether no later version may replace it (TG §3.3, footnote 2). The issuer reads it, and so
    /// does a thread that opens a nested task's view.
    in_place: AtomicBool,
}

/// The first version's value follows 64 bytes of the datum and this head. So a small value shares a
/// cache line with the fields that lead to it.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Version>() == 104);

/// Where the head and the value of a version are, and hence which code frees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// The first version of a handle, in the handle's own block.
    First,
    /// A later version, in a separate block.
    Renamed,
    /// Like `Renamed`, in a runtime that bounds the storage of such versions.
    Counted,
    /// In a nested task's frame, which frees it. It shows the parent's version, which owns the
    /// value, or belongs to the task's own datum (`stack::layout::local`).
    Held,
}

/// The type of a value, for the untyped runtime.
#[derive(Debug)]
pub(crate) struct VersionKind {
    /// Makes a later version. With a share, the version is counted.
    pub(crate) rename: fn(Option<Share>) -> NonNull<Version>,
    /// The size of a counted version in bytes.
    pub(crate) counted_size: usize,
    free_renamed: unsafe fn(NonNull<Version>),
    free_counted: unsafe fn(NonNull<Version>),
    pub(crate) free_first: unsafe fn(NonNull<Datum>),
    drop_value: unsafe fn(NonNull<()>) -> Dropped,
    move_value: unsafe fn(NonNull<()>, NonNull<()>),
}

/// The panic payload of a value's drop, if any. A worker must not unwind, so it reports the payload
/// to the scope.
pub(crate) type Dropped = Result<(), PanicPayload>;

/// A later version with room for its value. `S` is its share of the runtime's bound, or `()`.
#[repr(C, align(64))]
struct Renamed<T, S> {
    head: Version,
    value: MaybeUninit<T>,
    share: S,
}

impl VersionKind {
    pub(crate) const fn of<T>() -> &'static Self {
        &KindOf::<T>::KIND
    }
}

struct KindOf<T>(T);

impl<T> KindOf<T> {
    const KIND: VersionKind = VersionKind {
        rename: rename::<T>,
        counted_size: size_of::<Renamed<T, Share>>(),
        free_renamed: free_renamed::<T, ()>,
        free_counted: free_renamed::<T, Share>,
        free_first: super::datum::free_first::<T>,
        drop_value: drop_value::<T>,
        move_value: move_value::<T>,
    };
}

fn rename<T>(share: Option<Share>) -> NonNull<Version> {
    match share {
        None => rename_with::<T, ()>(Allocation::Renamed, ()),
        Some(share) => rename_with::<T, Share>(Allocation::Counted, share),
    }
}

fn rename_with<T, S>(allocation: Allocation, share: S) -> NonNull<Version> {
    let block = storage::alloc::<Renamed<T, S>>();
    // SAFETY: the field is inside the block. The value is not touched, because it may be large.
    let value = unsafe { block.byte_add(offset_of!(Renamed<T, S>, value)) };
    // SAFETY: as above.
    let share_at = unsafe { block.byte_add(offset_of!(Renamed<T, S>, share)) };
    // SAFETY: the block is new, and this is the address of that field.
    unsafe { share_at.cast().write(share) };
    let head = block.cast();
    // SAFETY: as above.
    unsafe { head.write(Version::new(VersionKind::of::<T>(), allocation, value.cast())) };
    head
}

/// # Safety
///
/// `version` came from `rename_with::<T, S>`, no code uses it, and its value was dropped or moved
/// away.
unsafe fn free_renamed<T, S>(version: NonNull<Version>) {
    let block: NonNull<Renamed<T, S>> = version.cast();
    // SAFETY: `rename_with` wrote all fields, and the caller gives them up. This does not drop the
    // value.
    unsafe { block.drop_in_place() };
    // SAFETY: the block came from `storage`, for this type.
    unsafe { storage::free(block) };
}

/// # Safety
///
/// `value` points to a `T` that no code uses afterwards.
unsafe fn drop_value<T>(value: NonNull<()>) -> Dropped {
    // SAFETY: as the caller promises.
    catch(|| unsafe { value.cast::<T>().drop_in_place() })
}

/// # Safety
///
/// `from` holds a `T`, `to` has room for one, and they do not overlap. Afterwards `from` holds
/// none.
unsafe fn move_value<T>(from: NonNull<()>, to: NonNull<()>) {
    // SAFETY: as the caller promises.
    unsafe { ptr::copy_nonoverlapping(from.cast::<T>().as_ptr(), to.cast::<T>().as_ptr(), 1) }
}

/// The state of a version, as a reader finds it.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Unset,
    Produced,
    Failed(Error),
}

fn produced() -> *mut () {
    ptr::without_provenance_mut(1)
}

/// Guards the transition to "failed", because several members of one generation may make it at
/// once.
static FAILING: Mutex<()> = Mutex::new(());

/// Takes the lock for a fork.
pub(crate) fn take_lock() -> Box<dyn std::any::Any> {
    Box::new(FAILING.lock())
}

impl Version {
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn new(kind: &'static VersionKind, allocation: Allocation, value: NonNull<()>) -> Self {
        Version {
            meta: Meta::default(),
            value: Cell::new(value),
            state: AtomicPtr::default(),
            exclusion: Exclusion::default(),
            kind: Cell::new(kind),
            failed_group: AtomicU32::new(0),
            allocation,
            full: Cell::new(false),
            in_place: AtomicBool::new(false),
        }
    }

    /// Resets the version for a new value, possibly of another kind. The old value is spent and
    /// needs no drop. No other thread sees the version before the caller publishes it.
    #[inline(always)]
    pub(super) fn renew(&self, kind: &'static VersionKind) {
        self.kind.set(kind);
        self.state.store(ptr::null_mut(), Ordering::Relaxed);
        self.full.set(false);
        self.in_place.store(false, Ordering::Relaxed);
    }

    /// The scheme's metadata.
    #[inline]
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    #[inline]
    pub(crate) fn kind(&self) -> &'static VersionKind {
        self.kind.get()
    }

    /// Whether no later version may replace it.
    pub(crate) fn is_in_place(&self) -> bool {
        // Relaxed: the flag orders nothing.
        self.in_place.load(Ordering::Relaxed)
    }

    pub(crate) fn set_in_place(&self, in_place: bool) {
        self.in_place.store(in_place, Ordering::Relaxed);
    }

    /// The address of the value.
    #[inline]
    pub(crate) fn value(&self) -> NonNull<()> {
        self.value.get()
    }

    pub(crate) fn set_value_place(&self, value: NonNull<()>) {
        self.value.set(value);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full.get()
    }

    pub(crate) fn set_full(&self, full: bool) {
        self.full.set(full);
    }

    #[inline]
    pub(crate) fn is_produced(&self) -> bool {
        self.state.load(Ordering::Relaxed) == produced()
    }

    pub(crate) fn state(&self) -> State {
        let state = self.state.load(Ordering::Acquire);
        if state.is_null() {
            State::Unset
        } else if state == produced() {
            State::Produced
        } else {
            // SAFETY: the state holds one count of the failure. `into_raw` below puts it back.
            let error = unsafe { Error::from_raw(state) };
            let copy = error.clone();
            let _still_counted = error.into_raw();
            State::Failed(copy)
        }
    }

    /// Sets what readers find. Only for a task that has the version alone (`write` or `inout`), or
    /// for the issuer while the version is idle.
    #[inline]
    pub(crate) fn set_state(&self, state: State) {
        let new = match state {
            State::Unset => ptr::null_mut(),
            State::Produced => produced(),
            State::Failed(error) => error.into_raw().cast_mut(),
        };
        let old = self.state.load(Ordering::Relaxed);
        if old != new {
            self.state.store(new, Ordering::Relaxed);
        }
        // Needed also if both are the same failure: each carries a count, and the word holds one.
        forget_state(old);
    }

    /// Publishes the value that the caller just wrote. Only for a task that has the version alone
    /// and whose state is unset.
    #[inline(always)]
    pub(crate) fn produce(&self) {
        debug_assert!(self.state.load(Ordering::Relaxed).is_null(), "unset since the write began");
        self.full.set(true);
        self.state.store(produced(), Ordering::Relaxed);
    }

    /// Whether a member of generation `group` may run on the current value.
    ///
    /// Members of a generation are unordered. So the failure of another member of the same
    /// generation poisons only later generations, unless that member took the value away. If
    /// members exclude one another, the caller must hold the exclusion.
    pub(crate) fn serves(&self, group: u32) -> bool {
        self.is_produced()
            || (!self.state.load(Ordering::Acquire).is_null()
                && self.failed_group.load(Ordering::Relaxed) == group
                && self.full.get())
    }

    /// Records that a member of generation `group` failed. Only the first failure is kept.
    pub(crate) fn fail_in_group(&self, group: u32, error: &Error) {
        let _guard = FAILING.lock();
        if self.is_produced() {
            self.failed_group.store(group, Ordering::Relaxed);
            // Release: members that run at the same time read the group and the error.
            self.state.store(error.clone().into_raw().cast_mut(), Ordering::Release);
        }
    }

    /// Records the failure of a task that has the version alone. Every later generation finds
    /// another generation's failure.
    pub(crate) fn fail(&self, error: Error) {
        self.leave_failed_group();
        self.set_state(State::Failed(error));
    }

    /// Detaches the failure from its generation. No generation has the number 0.
    pub(crate) fn leave_failed_group(&self) {
        self.failed_group.store(0, Ordering::Relaxed);
    }

    /// Drops the value, if there is one.
    ///
    /// # Safety
    ///
    /// No other code uses the value.
    #[inline(always)]
    pub(crate) unsafe fn drop_value(&self) -> Dropped {
        if !self.full.replace(false) {
            return Ok(());
        }
        // SAFETY: `full` said that the storage holds a value of the kind's type, and `replace` just
        // cleared it.
        unsafe { (self.kind().drop_value)(self.value()) }
    }

    /// Like `drop_value`, in a body or on a user's thread, which may unwind.
    ///
    /// # Safety
    ///
    /// No other code uses the value.
    #[inline(always)]
    pub(crate) unsafe fn drop_value_here(&self) {
        // SAFETY: as the caller promises.
        unsafe { self.drop_value() }.unwrap_or_else(|caught| caught.resume());
    }

    /// Moves the value into the storage of `to`, and drops the old value there.
    ///
    /// # Safety
    ///
    /// Both are of one kind, and no other code uses them.
    pub(crate) unsafe fn move_value_to(&self, to: &Version) -> Dropped {
        // SAFETY: the caller has `to` alone.
        let dropped = unsafe { to.drop_value() };
        if self.full.replace(false) {
            // SAFETY: `full` said that there is a value. `to` has room for it, because its own
            // value was dropped.
            unsafe { (self.kind().move_value)(self.value(), to.value()) };
            to.full.set(true);
        }
        dropped
    }

    /// Frees a version that was retired and has no access outstanding.
    ///
    /// # Safety
    ///
    /// No code uses the version afterwards.
    pub(crate) unsafe fn free(this: NonNull<Version>) -> Dropped {
        // SAFETY: the caller keeps the version alive until now.
        let version = unsafe { this.as_ref() };
        if version.allocation == Allocation::Held {
            return Ok(());
        }
        // SAFETY: no other code uses it.
        let dropped = unsafe { version.drop_value() };
        version.set_state(State::Unset);
        match version.allocation {
            Allocation::First => {
                // SAFETY: a first version is inside its datum.
                let datum = unsafe { Datum::of_first(this) };
                // SAFETY: it owned a part of the datum.
                unsafe { Datum::drop_part(datum) }
            }
            // SAFETY: such a version came from `rename` of the same kind, with a share. Its value
            // is gone.
            Allocation::Counted => unsafe { (version.kind().free_counted)(this) },
            // SAFETY: as above, without a share.
            _ => unsafe { (version.kind().free_renamed)(this) },
        }
        dropped
    }
}

/// Drops the count that a state word held.
fn forget_state(state: *mut ()) {
    if !state.is_null() && state != produced() {
        // SAFETY: the word held one count, and it was just overwritten.
        drop(unsafe { Error::from_raw(state) });
    }
}
