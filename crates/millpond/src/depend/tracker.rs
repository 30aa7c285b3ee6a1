//! How an engine calls its scheme: directly, or through a table of functions selected at run time.
//!
//! A scheme's functions take no `self`, so a scheme is only a type. An engine holds a *tracker*, a
//! small `Copy` value. [`Of<D>`] has no size and calls `D` directly. `AnyScheme` (`depend/any.rs`)
//! points to the table of one scheme.

use std::marker::PhantomData;

use super::{Meta, Mode, Released, Scheme};
use crate::task::{Record, TaskRef};

/// A scheme as its engine sees it. The functions are those of [`Scheme`].
pub trait Tracker: Copy + Default + Send + Sync + 'static {
    /// The scheme's data in a worker.
    type Local: Send;
    /// The scheme's data in a runtime.
    type Shared: Send + Sync;

    fn local(self) -> Self::Local;
    fn shared(self) -> Self::Shared;
    fn name(self) -> &'static str;
    /// Whether the scheme orders accesses of a mode.
    fn orders(self, mode: Mode) -> bool;
    fn searches(self) -> bool;
    fn ops(self) -> &'static SchemeOps;
    fn is_idle(self, meta: &Meta) -> bool;
    fn is_ready(self, meta: &Meta, mode: Mode) -> bool;
    fn prefetch(self, meta: &Meta, record: &Record);
    fn find(self, shared: &Self::Shared) -> Option<TaskRef>;
    fn has_ready(self, shared: &Self::Shared) -> bool;

    /// # Safety
    ///
    /// As for [`Scheme::issue`]. This tracker made `local`.
    unsafe fn issue(self, local: &mut Self::Local, meta: &Meta, record: &Record) -> bool;

    /// # Safety
    ///
    /// As for [`Scheme::enter`]. This tracker made `shared`.
    unsafe fn enter(self, shared: &Self::Shared, task: TaskRef, waiting: usize) -> bool;

    /// # Safety
    ///
    /// As for [`Scheme::granted`].
    unsafe fn granted(self, record: &Record) -> bool;

    /// # Safety
    ///
    /// As for [`Scheme::release`]. This tracker made `shared` and `local`.
    unsafe fn release(self, shared: &Self::Shared, local: &mut Self::Local, meta: &Meta, record: &Record) -> Released;

    /// # Safety
    ///
    /// As for [`Scheme::retire`].
    unsafe fn retire(self, meta: &Meta) -> bool;
}

/// The functions of a scheme that work without its engine. A handle's drop calls the scheme of the
/// claiming scope through them.
#[derive(Debug)]
pub struct SchemeOps {
    pub(crate) is_idle: fn(&Meta) -> bool,
    pub(crate) retire: unsafe fn(&Meta) -> bool,
    pub(crate) forget: unsafe fn(&Meta),
}

impl SchemeOps {
    pub(crate) const fn of<D: Scheme>() -> &'static Self {
        &SchemeOps {
            is_idle: |meta| D::is_idle(meta.of::<D>()),
            // SAFETY: the caller has the obligations of the trait's method.
            retire: |meta| unsafe { D::retire(meta.of::<D>()) },
            // SAFETY: as above.
            forget: |meta| unsafe { D::forget(meta.of::<D>()) },
        }
    }
}

/// The tracker of a scheme named as a type.
#[derive(Debug)]
pub struct Of<D>(PhantomData<fn() -> D>);

impl<D> Clone for Of<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Of<D> {}

impl<D> Default for Of<D> {
    #[inline(always)]
    fn default() -> Self {
        Of(PhantomData)
    }
}

impl<D: Scheme> Tracker for Of<D> {
    type Local = D::Local;
    type Shared = D::Shared;

    fn local(self) -> D::Local {
        D::Local::default()
    }

    fn shared(self) -> D::Shared {
        D::Shared::default()
    }

    fn name(self) -> &'static str {
        D::NAME
    }

    #[inline(always)]
    fn orders(self, mode: Mode) -> bool {
        let ordered = const { modes_of::<D>() };
        ordered == const { bits(Mode::ALL) } || ordered & 1 << mode as u8 != 0
    }

    #[inline(always)]
    fn searches(self) -> bool {
        D::SEARCHES
    }

    #[inline(always)]
    fn ops(self) -> &'static SchemeOps {
        SchemeOps::of::<D>()
    }

    #[inline(always)]
    fn is_idle(self, meta: &Meta) -> bool {
        D::is_idle(meta.of::<D>())
    }

    #[inline(always)]
    fn is_ready(self, meta: &Meta, mode: Mode) -> bool {
        D::is_ready(meta.of::<D>(), mode)
    }

    #[inline(always)]
    fn prefetch(self, meta: &Meta, record: &Record) {
        D::prefetch(meta.of::<D>(), record);
    }

    #[inline(always)]
    fn find(self, shared: &D::Shared) -> Option<TaskRef> {
        D::find(shared)
    }

    #[inline(always)]
    fn has_ready(self, shared: &D::Shared) -> bool {
        D::has_ready(shared)
    }

    #[inline(always)]
    unsafe fn issue(self, local: &mut D::Local, meta: &Meta, record: &Record) -> bool {
        // SAFETY: as the caller promises. The same holds below.
        unsafe { D::issue(local, meta.of::<D>(), record) }
    }

    #[inline(always)]
    unsafe fn enter(self, shared: &D::Shared, task: TaskRef, waiting: usize) -> bool {
        // SAFETY: as above.
        unsafe { D::enter(shared, task, waiting) }
    }

    #[inline(always)]
    unsafe fn granted(self, record: &Record) -> bool {
        // SAFETY: as above.
        unsafe { D::granted(record) }
    }

    #[inline(always)]
    unsafe fn release(self, shared: &D::Shared, local: &mut D::Local, meta: &Meta, record: &Record) -> Released {
        // SAFETY: as above.
        unsafe { D::release(shared, local, meta.of::<D>(), record) }
    }

    #[inline(always)]
    unsafe fn retire(self, meta: &Meta) -> bool {
        // SAFETY: as above.
        unsafe { D::retire(meta.of::<D>()) }
    }
}

const fn bits(modes: &[Mode]) -> u8 {
    let (mut bits, mut at) = (0, 0);
    while at < modes.len() {
        bits |= 1 << modes[at] as u8;
        at += 1;
    }
    bits
}

/// The modes that a scheme orders, one bit each.
pub(super) const fn modes_of<D: Scheme>() -> u8 {
    let (modes, needed) = (bits(D::MODES), bits(&[Mode::Read, Mode::Inout]));
    assert!(modes & needed == needed, "every scheme orders `read` and `inout`");
    modes
}
