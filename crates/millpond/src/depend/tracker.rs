//! How an engine calls its scheme: directly, or through a table of functions selected at run time.
//!
//! A scheme's functions take no `self`, so a scheme is only a type. An engine holds a *tracker*, a
//! small `Copy` value. [`Of<D>`] has no size and calls `D` directly. [`AnyScheme`] points to the
//! table of one scheme.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

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
const fn modes_of<D: Scheme>() -> u8 {
    let (modes, needed) = (bits(D::MODES), bits(&[Mode::Read, Mode::Inout]));
    assert!(modes & needed == needed, "every scheme orders `read` and `inout`");
    modes
}

/// A value whose type is known only to its scheme.
struct Hidden {
    at: NonNull<()>,
    of: TypeId,
    drop: unsafe fn(NonNull<()>),
}

impl Hidden {
    fn new<T: 'static>(value: T) -> Hidden {
        Hidden {
            at: NonNull::from(Box::leak(Box::new(value))).cast(),
            of: TypeId::of::<T>(),
            // SAFETY: `Drop` calls it once, with the value that was leaked above.
            drop: |at| drop(unsafe { Box::from_raw(at.cast::<T>().as_ptr()) }),
        }
    }

    /// The value.
    ///
    /// # Panics
    ///
    /// If the value has another type.
    #[inline]
    fn get<T: 'static>(&self) -> NonNull<T> {
        assert!(self.of == TypeId::of::<T>(), "a part of another scheme");
        self.at.cast()
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // SAFETY: `new` leaked the value for this, and no code uses it any more.
        unsafe { (self.drop)(self.at) }
    }
}

/// The data of an [`AnyScheme`]'s scheme in a worker.
pub struct AnyLocal(Hidden);

/// The data of an [`AnyScheme`]'s scheme in a runtime.
pub struct AnyShared(Hidden);

// SAFETY: it holds a `Scheme::Local`, which is `Send`.
unsafe impl Send for AnyLocal {}
// SAFETY: it holds a `Scheme::Shared`, which is `Send` and `Sync`.
unsafe impl Send for AnyShared {}
// SAFETY: as above.
unsafe impl Sync for AnyShared {}

impl AnyLocal {
    #[inline]
    fn get<D: Scheme>(&mut self) -> &mut D::Local {
        // SAFETY: the value has this type, and is borrowed as long as `self` is.
        unsafe { self.0.get::<D::Local>().as_mut() }
    }
}

impl AnyShared {
    #[inline]
    fn get<D: Scheme>(&self) -> &D::Shared {
        // SAFETY: as above.
        unsafe { self.0.get::<D::Shared>().as_ref() }
    }
}

/// The functions of one scheme.
struct Table {
    name: &'static str,
    modes: &'static [Mode],
    bits: u8,
    searches: bool,
    ops: &'static SchemeOps,
    local: fn() -> AnyLocal,
    shared: fn() -> AnyShared,
    is_ready: fn(&Meta, Mode) -> bool,
    prefetch: fn(&Meta, &Record),
    find: fn(&AnyShared) -> Option<TaskRef>,
    has_ready: fn(&AnyShared) -> bool,
    issue: unsafe fn(&mut AnyLocal, &Meta, &Record) -> bool,
    enter: unsafe fn(&AnyShared, TaskRef, usize) -> bool,
    granted: unsafe fn(&Record) -> bool,
    release: unsafe fn(&AnyShared, &mut AnyLocal, &Meta, &Record) -> Released,
}

impl<D: Scheme> Of<D> {
    const TABLE: &'static Table = &Table {
        name: D::NAME,
        modes: D::MODES,
        bits: const { modes_of::<D>() },
        searches: D::SEARCHES,
        ops: SchemeOps::of::<D>(),
        local: || AnyLocal(Hidden::new(D::Local::default())),
        shared: || AnyShared(Hidden::new(D::Shared::default())),
        is_ready: |meta, mode| D::is_ready(meta.of::<D>(), mode),
        prefetch: |meta, record| D::prefetch(meta.of::<D>(), record),
        find: |shared| D::find(shared.get::<D>()),
        has_ready: |shared| D::has_ready(shared.get::<D>()),
        // SAFETY: the caller has the obligations of the trait's method. The same holds below.
        issue: |local, meta, record| unsafe { D::issue(local.get::<D>(), meta.of::<D>(), record) },
        // SAFETY: as above.
        enter: |shared, task, waiting| unsafe { D::enter(shared.get::<D>(), task, waiting) },
        // SAFETY: as above.
        granted: |record| unsafe { D::granted(record) },
        // SAFETY: as above.
        release: |shared, local, meta, record| unsafe {
            D::release(shared.get::<D>(), local.get::<D>(), meta.of::<D>(), record)
        },
    };
}

/// A scheme selected at run time: this crate's, or any other type that implements [`Scheme`].
///
/// ```
/// use millpond::depend::AnyScheme;
/// use millpond::depend::list::List;
///
/// assert_eq!(AnyScheme::of::<List>().name(), "list");
/// ```
#[derive(Clone, Copy)]
pub struct AnyScheme(&'static Table);

impl AnyScheme {
    /// The scheme of this type.
    pub const fn of<D: Scheme>() -> AnyScheme {
        AnyScheme(Of::<D>::TABLE)
    }

    /// The name that selects it on the command line ([`Scheme::NAME`]).
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The access modes that it orders ([`Scheme::MODES`]).
    pub const fn modes(self) -> &'static [Mode] {
        self.0.modes
    }
}

impl fmt::Debug for AnyScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyScheme").field(&self.name()).finish()
    }
}

/// The default scheme.
impl Default for AnyScheme {
    fn default() -> Self {
        AnyScheme::of::<super::parked::Parked>()
    }
}

impl Tracker for AnyScheme {
    type Local = AnyLocal;
    type Shared = AnyShared;

    fn local(self) -> AnyLocal {
        (self.0.local)()
    }

    fn shared(self) -> AnyShared {
        (self.0.shared)()
    }

    fn name(self) -> &'static str {
        self.0.name
    }

    #[inline]
    fn orders(self, mode: Mode) -> bool {
        self.0.bits & 1 << mode as u8 != 0
    }

    #[inline]
    fn searches(self) -> bool {
        self.0.searches
    }

    #[inline]
    fn ops(self) -> &'static SchemeOps {
        self.0.ops
    }

    #[inline]
    fn is_idle(self, meta: &Meta) -> bool {
        (self.0.ops.is_idle)(meta)
    }

    #[inline]
    fn is_ready(self, meta: &Meta, mode: Mode) -> bool {
        (self.0.is_ready)(meta, mode)
    }

    #[inline]
    fn prefetch(self, meta: &Meta, record: &Record) {
        (self.0.prefetch)(meta, record);
    }

    fn find(self, shared: &AnyShared) -> Option<TaskRef> {
        (self.0.find)(shared)
    }

    #[inline]
    fn has_ready(self, shared: &AnyShared) -> bool {
        self.0.searches && (self.0.has_ready)(shared)
    }

    #[inline]
    unsafe fn issue(self, local: &mut AnyLocal, meta: &Meta, record: &Record) -> bool {
        // SAFETY: as the caller promises. The same holds below.
        unsafe { (self.0.issue)(local, meta, record) }
    }

    #[inline]
    unsafe fn enter(self, shared: &AnyShared, task: TaskRef, waiting: usize) -> bool {
        // SAFETY: as above.
        unsafe { (self.0.enter)(shared, task, waiting) }
    }

    #[inline]
    unsafe fn granted(self, record: &Record) -> bool {
        // SAFETY: as above.
        unsafe { (self.0.granted)(record) }
    }

    #[inline]
    unsafe fn release(self, shared: &AnyShared, local: &mut AnyLocal, meta: &Meta, record: &Record) -> Released {
        // SAFETY: as above.
        unsafe { (self.0.release)(shared, local, meta, record) }
    }

    #[inline]
    unsafe fn retire(self, meta: &Meta) -> bool {
        // SAFETY: as above.
        unsafe { (self.0.ops.retire)(meta) }
    }
}
