//! A datum in one block with its first version: the layout, and the parts that keep and free it.

use std::mem::{MaybeUninit, offset_of};
use std::ptr::{self, NonNull};

use super::{Datum, ORPHAN, REDUCING};
use crate::depend::Mode;
use crate::depend::tracker::SchemeOps;
use crate::handle::storage;
use crate::handle::version::{Allocation, Dropped, State, Version, VersionKind};
use crate::sync::atomic::Ordering;
use crate::worker::scope_state::{NESTED_EPOCH, ScopeState};

/// A datum with its first version.
///
/// ```text
///   0   datum    current version, claim, last use, generation
///  64   first    the first version: scheme metadata (64 bytes),
/// 128            where its value is, state, exclusion
/// 168   value    the first version's storage, if the value is here
/// ```
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Whole {
    datum: Datum,
    first: Version,
}

#[cfg(not(loom))]
const _: () = assert!(offset_of!(Whole, first) == 64);

/// A datum with room for its first value.
#[repr(C, align(64))]
struct DatumOf<T> {
    head: Whole,
    value: MaybeUninit<T>,
}

/// # Safety
///
/// `datum` came from `Datum::allocate::<T>`, no code uses it, and its value was dropped or moved
/// away.
pub(in crate::handle) unsafe fn free_first<T>(datum: NonNull<Datum>) {
    // SAFETY: `allocate` took such a block, and it belongs to the caller.
    unsafe { storage::free(datum.cast::<DatumOf<T>>()) };
}

impl Whole {
    /// Makes a datum that shows a nested task its parent's version. The caller must call
    /// `make_first_current` once the datum is at its final address.
    pub(crate) fn held(parent: &Version, value: NonNull<()>, scope: u64, scheme: &'static SchemeOps) -> Whole {
        let (datum, first) = (Datum::new(true), Version::new(parent.kind(), Allocation::Held, value));
        first.set_in_place(parent.is_in_place());
        datum.claim_new(scope, scheme);
        Whole { datum, first }
    }

    /// Makes a nested scope's own datum, stored in the stack that holds the scope's tasks. The
    /// caller must then call `make_first_current`, and set the address of the value.
    #[cfg(feature = "stack")]
    #[inline(always)]
    pub(crate) fn own<T>(scope_state: &ScopeState, scheme: &'static SchemeOps) -> Whole {
        let first = Version::new(VersionKind::of::<T>(), Allocation::Held, NonNull::dangling());
        let datum = Datum::new(true);
        datum.claim_new(scope_state.claim(), scheme);
        datum.set_seen(scope_state.epoch(), Mode::Inout);
        Whole { datum, first }
    }

    /// Resets a datum that `own` made and that is unchanged since, for a value at the same address.
    /// The type of the value may differ.
    #[inline(always)]
    pub(crate) fn renew<T>(&self, epoch: u64) {
        self.datum.renew_seen(epoch);
        self.first.renew(VersionKind::of::<T>());
    }

    /// Whether only the value has changed since `own` made the datum in a scope's first epoch. The
    /// caller knows that no task that uses it was pushed.
    #[inline(always)]
    pub(crate) fn is_as_made(&self) -> bool {
        self.datum.is_seen_in(NESTED_EPOCH)
    }

    /// Drops the error of a failed version. No task uses the datum any more.
    #[inline(always)]
    pub(crate) fn forget_failure(&self) {
        if !self.first.is_produced() {
            self.first.set_state(State::Unset);
        }
    }
}

impl Datum {
    /// Makes a datum in a separate block, without a value.
    pub(crate) fn allocate<T>() -> NonNull<Datum> {
        let first = Version::new(VersionKind::of::<T>(), Allocation::First, NonNull::dangling());
        let head = Whole { datum: Datum::new(false), first };
        let block = storage::alloc::<DatumOf<T>>();
        // SAFETY: the block is new, and the head is its first field.
        unsafe { block.cast().write(head) };
        // SAFETY: as above.
        let value = NonNull::from(unsafe { &mut (*block.as_ptr()).value });
        let datum = block.cast::<Datum>();
        // SAFETY: the datum was just made, and it is the first field of the block.
        unsafe { Datum::make_first_current(datum) };
        // SAFETY: as above.
        unsafe { Datum::first(datum) }.set_value_place(value.cast());
        datum
    }

    /// Makes the first version current.
    ///
    /// # Safety
    ///
    /// `this` points to a [`Whole`] that does not move any more.
    pub(crate) unsafe fn make_first_current(this: NonNull<Datum>) {
        // SAFETY: as the caller promises.
        let first = unsafe { Datum::first_at(this) };
        // SAFETY: the caller's pointer is valid.
        unsafe { this.as_ref() }.set_current(first);
    }

    /// # Safety
    ///
    /// `this` points to a [`Whole`].
    unsafe fn first_at(this: NonNull<Datum>) -> NonNull<Version> {
        // SAFETY: the field is inside the `Whole`.
        unsafe { this.byte_add(offset_of!(Whole, first)) }.cast()
    }

    /// The first version.
    ///
    /// # Safety
    ///
    /// `this` points to a [`Whole`] that lives for `'a`.
    pub(crate) unsafe fn first<'a>(this: NonNull<Datum>) -> &'a Version {
        // SAFETY: as the caller promises.
        let first = unsafe { Datum::first_at(this) };
        // SAFETY: as above.
        unsafe { first.as_ref() }
    }

    /// The datum of a first version.
    ///
    /// # Safety
    ///
    /// `first` is the pointer that `make_first_current` made: it may be used for the whole datum.
    pub(crate) unsafe fn of_first(first: NonNull<Version>) -> NonNull<Datum> {
        // SAFETY: the caller promises that the version is that field of a datum.
        unsafe { first.byte_sub(offset_of!(Whole, first)) }.cast()
    }

    /// Drops the handle.
    ///
    /// # Safety
    ///
    /// `this` is not a held datum, the caller owned its handle, and no thread issues on it any
    /// more.
    pub(crate) unsafe fn drop_handle(this: NonNull<Datum>) {
        // SAFETY: the handle's part keeps the block alive.
        let datum = unsafe { this.as_ref() };
        // SAFETY: a datum with its own handle is whole.
        let first = unsafe { Datum::first_at(this) };
        let dropped = if datum.current() == first && datum.parts.load(Ordering::Acquire) == 2 {
            // Apart from the handle, only the first version keeps the block. It is current, and no
            // thread drops its part before this thread retires it. So a store is enough.
            datum.parts.store(1 | ORPHAN, Ordering::Relaxed);
            // SAFETY: as the caller promises. The handle's part is gone, and the version keeps the
            // block.
            unsafe { Datum::retire_current(this) }
        } else if datum.parts.fetch_or(ORPHAN, Ordering::AcqRel) & REDUCING == 0 {
            // SAFETY: as the caller promises. No reduction is open, so no scope will issue a
            // combine task.
            unsafe { Datum::let_go(this) }
        } else {
            return;
        };
        if let (Err(caught), false) = (dropped, std::thread::panicking()) {
            caught.resume();
        }
    }

    /// # Safety
    ///
    /// As for `drop_handle`. The caller owns the handle's part.
    pub(super) unsafe fn let_go(this: NonNull<Datum>) -> Dropped {
        // SAFETY: as the caller promises.
        let dropped = unsafe { Datum::retire_current(this) };
        // SAFETY: this is the handle's part.
        unsafe { Datum::drop_part(this) };
        dropped
    }

    /// Retires the current version, and frees it if no task uses it. If it is the first version,
    /// the datum may be gone afterwards.
    ///
    /// # Safety
    ///
    /// No thread issues any more, and a part keeps the block until the version is retired.
    unsafe fn retire_current(this: NonNull<Datum>) -> Dropped {
        // SAFETY: as the caller promises.
        let datum = unsafe { this.as_ref() };
        let current = datum.current();
        let idle = match datum.scheme.get() {
            // SAFETY: no thread issues any more.
            Some(scheme) => unsafe { (scheme.retire)(datum.version().meta()) },
            None => true,
        };
        // SAFETY: if idle, the version is retired and has no access outstanding.
        if idle { unsafe { Version::free(current) } } else { Ok(()) }
    }

    /// Drops one of the parts that keep the block. The last one frees it.
    ///
    /// # Safety
    ///
    /// The caller owns a part, and does not use the datum afterwards.
    pub(crate) unsafe fn drop_part(this: NonNull<Datum>) {
        // SAFETY: the caller's part keeps the block alive.
        let datum = unsafe { this.as_ref() };
        if datum.held {
            return;
        }
        // SAFETY: a datum that is not held is whole.
        let free = unsafe { Datum::first(this) }.kind().free_first;
        // The owner of the only part need not subtract it: no other thread adds one.
        let is_last = datum.parts.load(Ordering::Acquire) & !ORPHAN == 1
            || datum.parts.fetch_sub(1, Ordering::AcqRel) & !ORPHAN == 1;
        if is_last {
            // SAFETY: the first version owned a part and was freed, so its value is gone. No parts
            // are left.
            unsafe { free(this) };
        }
    }

    /// Moves the state and the value of a nested task's last version to its parent.
    ///
    /// # Safety
    ///
    /// The datum is held and whole. Its scope is closed, and no access to it is outstanding. The
    /// caller has `parent` alone.
    pub(crate) unsafe fn hand_back(this: NonNull<Datum>, parent: &Version) -> Dropped {
        let mut dropped = Ok(());
        // SAFETY: the caller's pointer is valid.
        let last = unsafe { this.as_ref() }.current();
        // SAFETY: the current version lives.
        let version = unsafe { last.as_ref() };
        // SAFETY: as the caller promises.
        let first = unsafe { Datum::first(this) };
        if ptr::eq(version, first) {
            parent.set_full(version.is_full());
        } else {
            // If the version was not produced, the old value stays: siblings in the generation may
            // need it.
            parent.set_full(first.is_full());
            if version.is_full() {
                // SAFETY: the scope is closed, so no other code uses either version. Both are of
                // the handle's kind.
                dropped = unsafe { version.move_value_to(parent) };
            }
        }
        parent.set_state(version.state());
        // SAFETY: no access to it is outstanding, and none will be issued. For a first version this
        // does nothing.
        let moved_away = unsafe { Version::free(last) };
        first.set_state(State::Unset);
        dropped.and(moved_away)
    }
}
