//! A scheme that is chosen at run time: one of this crate's, or any other type that implements
//! [`Scheme`].
//!
//! Only the engine `Catalogue` has one. So this file needs the Cargo feature `catalogue`.

use std::any::TypeId;
use std::fmt;
use std::ptr::NonNull;

use super::tracker::{Of, SchemeOps, Tracker, modes_of};
use super::{Meta, Mode, Released, Scheme};
use crate::task::{Record, TaskRef};

/// A value whose type only its scheme knows.
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

/// A scheme selected at run time: of this crate, or of any other that implements [`Scheme`].
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
}

impl fmt::Debug for AnyScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyScheme").field(&self.name()).finish()
    }
}

/// The default scheme.
impl Default for AnyScheme {
    fn default() -> Self {
        AnyScheme::of::<super::Parked>()
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
