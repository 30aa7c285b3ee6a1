//! The access words: what a task may do to a handle, and what its body is handed for it.
//!
//! The shapes here are what lets closures be written without types and handles hold borrows; the reasons are in
//! `docs/decisions/0002-front-end.md`.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::depend::Mode;
use crate::handle::reduction::{self, Reducer, ReducerRef};
use crate::handle::version::State;
use crate::handle::{Datum, Handle, Version};
use crate::task::{NestFrame, Record};

/// Brand of handles that any root scope may use; see [`Handle`].
#[derive(Debug)]
pub enum Root {}

/// Brand of the handles that one nested body was given, by that body's lifetime; see [`Handle`].
#[derive(Debug)]
pub struct In<'t>(PhantomData<fn(&'t ()) -> &'t ()>);

/// Right of a handle's owner, and of a body that declared `inout`, `commutative` or `reduce`: everything.
#[derive(Debug)]
pub enum Full {}
/// Right of a body that declared `read`.
#[derive(Debug)]
pub enum ReadOnly {}
/// Right of a body that declared `write`.
#[derive(Debug)]
pub enum WriteOnly {}
/// Right of a body that declared `concurrent`.
#[derive(Debug)]
pub enum ConcOnly {}

/// Rights that include reading.
#[diagnostic::on_unimplemented(
    message = "the task declared `write` only: it may neither read the datum nor pass on a read",
    label = "needs the right to read",
    note = "declare `inout` (or `read`) in the `nest` that gave this handle"
)]
pub trait CanRead {
    /// The access for which a body that waits on the datum waits.
    #[doc(hidden)]
    const WAIT: Mode;
}
#[diagnostic::do_not_recommend]
impl CanRead for Full {
    const WAIT: Mode = Mode::Inout;
}
#[diagnostic::do_not_recommend]
impl CanRead for ReadOnly {
    const WAIT: Mode = Mode::Read;
}
#[diagnostic::do_not_recommend]
impl CanRead for ConcOnly {
    const WAIT: Mode = Mode::Inout;
}

/// Rights that include writing.
#[diagnostic::on_unimplemented(
    message = "the task declared `read` or `concurrent` only: it may neither write the datum nor pass on a write",
    label = "needs the right to write",
    note = "declare `inout` (or `write`) in the `nest` that gave this handle"
)]
pub trait CanWrite {}
#[diagnostic::do_not_recommend]
impl CanWrite for Full {}
#[diagnostic::do_not_recommend]
impl CanWrite for WriteOnly {}

/// Rights that include concurrent updates.
#[diagnostic::on_unimplemented(
    message = "the task declared neither `concurrent` nor `inout`, and may not pass on a concurrent update",
    label = "needs the right to update concurrently",
    note = "declare `inout` or `concurrent` in the `nest` that gave this handle"
)]
pub trait CanShare {}
#[diagnostic::do_not_recommend]
impl CanShare for Full {}
#[diagnostic::do_not_recommend]
impl CanShare for ConcOnly {}

/// A declared access: what [`Handle::read`] and its siblings return and a spawn takes.
///
/// It borrows the handle, and counts nothing.
#[must_use = "an access does nothing until it is passed to a spawn"]
#[derive(Debug)]
pub struct Access<'h, T, M, B> {
    datum: NonNull<Datum>,
    mode: M,
    /// Invariant in `T`, as the handle.
    _of: PhantomData<(&'h T, fn(T) -> T, fn(B) -> B)>,
}

impl<T, M, B> Access<'_, T, M, B> {
    pub(crate) fn new(datum: NonNull<Datum>, mode: M) -> Self {
        Access { datum, mode, _of: PhantomData }
    }
}

/// Mode of [`Handle::read`].
#[derive(Clone, Copy, Debug)]
pub struct Read;
/// Mode of [`Handle::write`].
#[derive(Clone, Copy, Debug)]
pub struct Write;
/// Mode of [`Handle::inout`].
#[derive(Clone, Copy, Debug)]
pub struct Inout;
/// Mode of [`Handle::commutative`].
#[derive(Clone, Copy, Debug)]
pub struct Commutative;
/// Mode of [`Handle::concurrent`].
#[derive(Clone, Copy, Debug)]
pub struct Concurrent;
/// Mode of [`Handle::reduce`].
#[derive(Clone, Copy, Debug)]
pub struct Reduce<O>(pub(crate) O);

/// The place of a version that a `write` task must fill.
///
/// A task that ends without [`set`](Out::set) or [`insert`](Out::insert) fails as [`Kind::Unwritten`](crate::Kind).
#[must_use = "a `write` that is not set fails the task"]
#[derive(Debug)]
pub struct Out<'t, T> {
    version: &'t Version,
    _writes: PhantomData<&'t mut T>,
}

// SAFETY: the task has the version alone while its body runs, so an `Out` is as good as a `&mut Option<T>`.
unsafe impl<T: Send> Send for Out<'_, T> {}

impl<'t, T> Out<'t, T> {
    fn new(version: &'t Version) -> Self {
        version.set_state(State::Unset);
        Out { version, _writes: PhantomData }
    }

    /// Sets the value of the new version.
    #[inline]
    pub fn set(self, value: T) {
        self.insert(value);
    }

    /// Sets the value of the new version and lends it for the rest of the body.
    #[inline]
    pub fn insert(self, value: T) -> &'t mut T {
        // SAFETY: the task has the version alone, so nobody uses an old value.
        unsafe { self.version.drop_value_here() };
        let place = self.version.value().cast::<T>();
        // SAFETY: the storage has room for a `T` and holds none.
        unsafe { place.write(value) };
        self.version.set_full(true);
        self.version.set_state(State::Produced);
        // SAFETY: the storage holds a `T` that the task has alone for `'t`; `self` is used up.
        unsafe { &mut *place.as_ptr() }
    }

    /// A spent value of the same datum, if there is one, so that its memory can be used again. Its contents, and
    /// whether there is one, depend on the schedule: overwrite it all.
    pub fn recycled(&mut self) -> Option<T> {
        let full = self.version.is_full();
        self.version.set_full(false);
        // SAFETY: the storage held a value that the task has alone; it was marked as moved away.
        full.then(|| unsafe { self.version.value().cast().read() })
    }
}

/// What accesses become in a body with lifetime `'t`: references for a leaf, handles for a parent.
///
/// The second parameter is not to be named; it carries `Self: 't`, so that handles may hold borrows.
pub trait ArgsOf<'t, Implied = &'t Self> {
    /// What a leaf's closure takes.
    type Leaf;
    /// What a parent's closure takes.
    type Held;
}

/// What a task may declare: an access, a tuple of up to 20, an array or a `Vec` of them, nested at will.
///
/// # Safety
///
/// The associated functions visit the same accesses in the same order, and type each as the record of its place.
#[diagnostic::on_unimplemented(
    message = "this scope may not spawn on `{Self}`",
    label = "not an access that this scope can take",
    note = "say what the task does to a handle: `h.read()`, `h.inout()`, …; of several make a tuple of at most 20, an \
            array or a `Vec`",
    note = "a nested scope spawns on the handles that its body was given (declare the datum in the `nest`), and on \
            data of its own (`s.handle(…)`); a function for any scope takes a `&Handle<T, S::Brand>`"
)]
pub unsafe trait Accesses<'s, B>: for<'t> ArgsOf<'t> {
    /// What is remembered between spawn and start besides the records: the lengths of `Vec`s.
    #[doc(hidden)]
    type Shape: Send;
    #[doc(hidden)]
    fn count(&self) -> usize;
    #[doc(hidden)]
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape;
    /// # Safety
    /// The records that `args` walks were made by `visit` of a value of this type, and the task may run.
    #[doc(hidden)]
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't;
    /// # Safety
    /// As `leaf`; and `args` has a frame.
    #[doc(hidden)]
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't;
}

/// Who looks at the accesses of a spawn, one by one.
#[doc(hidden)]
#[expect(private_interfaces, reason = "named by no user: the trait is hidden and has one implementor")]
pub trait Visitor {
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode);
    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>);
}

/// Walks the records of a task that starts.
#[doc(hidden)]
#[derive(Debug)]
pub struct Args<'t> {
    records: std::slice::Iter<'t, Record>,
    frame: Option<&'t NestFrame>,
    index: usize,
}

impl<'t> Args<'t> {
    pub(crate) fn new(records: &'t [Record], frame: Option<&'t NestFrame>) -> Self {
        Args { records: records.iter(), frame, index: 0 }
    }

    fn next(&mut self) -> &'t Record {
        self.index += 1;
        self.records.next().expect("a task has a record for each access")
    }

    fn version(&mut self) -> &'t Version {
        self.next().version()
    }

    /// Where the value of the next access is: the version's storage, or a new private copy.
    fn place(&mut self) -> (&'t Record, NonNull<()>) {
        let record = self.next();
        match record.reduction() {
            Some(reduction) => {
                let part = reduction.part();
                record.set_link(part.as_ptr());
                (record, part)
            }
            None => (record, record.version().value()),
        }
    }

    fn handle<T, R>(&mut self) -> Handle<T, In<'t>, R> {
        let index = self.index;
        let (record, value) = self.place();
        let frame = self.frame.expect("a parent has a frame");
        Handle::held(frame.hold(index, record, value))
    }
}

macro_rules! modes {
    ($($mode:ty, $tag:expr, $right:ty, $leaf:ty, |$args:ident| $make:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'t, T, B> ArgsOf<'t> for Access<'_, T, $mode, B> {
            type Leaf = $leaf;
            type Held = Handle<T, In<'t>, $right>;
        }

        // SAFETY: one access, one record, typed as the handle's `T`.
        unsafe impl<'s, T: 's, B> Accesses<'s, B> for Access<'_, T, $mode, B> {
            type Shape = ();
            #[inline]
            fn count(&self) -> usize {
                1
            }
            #[inline]
            fn visit(&self, visitor: &mut impl Visitor) {
                visitor.access(self.datum, $tag);
            }
            #[inline]
            unsafe fn leaf<'t>((): &(), $args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
            where
                Self: 't,
            {
                $make
            }
            unsafe fn held<'t>((): &(), args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
            where
                Self: 't,
            {
                args.handle()
            }
        }
    )*};
}

/// # Safety
///
/// The next access has a `T` that may be shared for `'t`.
unsafe fn shared<'t, T>(args: &mut Args<'t>) -> &'t T {
    // SAFETY: as the caller promises.
    unsafe { &*args.version().value().cast().as_ptr() }
}

/// # Safety
///
/// The next access has a `T` that the task has alone for `'t`.
unsafe fn exclusive<'t, T>(args: &mut Args<'t>) -> &'t mut T {
    // SAFETY: as the caller promises.
    unsafe { &mut *args.place().1.cast().as_ptr() }
}

// What each mode hands to a leaf. The scheme has granted the access, the version was checked to be produced, and
// conflicting accesses wait until it is released: that makes the references below sound. That `T` may be used on the
// worker's thread, `Handle::read` and its siblings have checked; said here again, it would be a second error.
modes! {
    // SAFETY: granted `read`: nobody writes meanwhile.
    Read, Mode::Read, ReadOnly, &'t T, |args| unsafe { shared(args) };
    Write, Mode::Write, WriteOnly, Out<'t, T>, |args| Out::new(args.version());
    // SAFETY: granted `inout`: nobody else uses the value.
    Inout, Mode::Inout, Full, &'t mut T, |args| unsafe { exclusive(args) };
    // SAFETY: granted `commutative`, and the exclusion was taken: nobody else uses the value.
    Commutative, Mode::Commutative, Full, &'t mut T, |args| unsafe { exclusive(args) };
    // SAFETY: granted `concurrent`: others have shared references too, nobody an exclusive one.
    Concurrent, Mode::Concurrent, ConcOnly, &'t T, |args| unsafe { shared(args) };
}

#[diagnostic::do_not_recommend]
impl<'t, T, O, B> ArgsOf<'t> for Access<'_, T, Reduce<O>, B> {
    type Leaf = &'t mut T;
    type Held = Handle<T, In<'t>, Full>;
}

// SAFETY: one access, one record, typed as the handle's `T`.
unsafe impl<'s, T: 's, O: Reducer<T>, B> Accesses<'s, B> for Access<'_, T, Reduce<O>, B> {
    type Shape = ();
    fn count(&self) -> usize {
        1
    }
    fn visit(&self, visitor: &mut impl Visitor) {
        reduction::describe::<T, O, _>(self.mode.0, |reducer| visitor.reduce(self.datum, reducer));
    }
    unsafe fn leaf<'t>((): &(), args: &mut Args<'t>) -> &'t mut T
    where
        Self: 't,
    {
        // SAFETY: the private copy is this task's alone.
        unsafe { exclusive(args) }
    }
    unsafe fn held<'t>((): &(), args: &mut Args<'t>) -> Handle<T, In<'t>, Full>
    where
        Self: 't,
    {
        args.handle()
    }
}

macro_rules! tuples {
    ($($a:ident $i:tt)*) => {
        #[diagnostic::do_not_recommend]
        impl<'t, $($a: for<'x> ArgsOf<'x>),*> ArgsOf<'t> for ($($a,)*) {
            type Leaf = ($(<$a as ArgsOf<'t>>::Leaf,)*);
            type Held = ($(<$a as ArgsOf<'t>>::Held,)*);
        }

        // SAFETY: the parts are visited in order, each as its own type.
        unsafe impl<'s, Brand, $($a: Accesses<'s, Brand>),*> Accesses<'s, Brand> for ($($a,)*) {
            type Shape = ($($a::Shape,)*);
            #[inline]
            fn count(&self) -> usize {
                0 $(+ self.$i.count())*
            }
            #[inline]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple uses neither")]
            fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
                ($(self.$i.visit(visitor),)*)
            }
            #[inline]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple uses neither")]
            unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
            where
                Self: 't,
            {
                // SAFETY: passed on.
                ($(unsafe { $a::leaf(&shape.$i, args) },)*)
            }
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple uses neither")]
            unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
            where
                Self: 't,
            {
                // SAFETY: passed on.
                ($(unsafe { $a::held(&shape.$i, args) },)*)
            }
        }
    };
}
macro_rules! tuples_to_20 {
    ([$($done:ident $di:tt)*]) => { tuples! { $($done $di)* } };
    ([$($done:ident $di:tt)*] $a:ident $i:tt $($rest:tt)*) => {
        tuples! { $($done $di)* }
        tuples_to_20! { [$($done $di)* $a $i] $($rest)* }
    };
}
tuples_to_20! { [] A0 0 A1 1 A2 2 A3 3 A4 4 A5 5 A6 6 A7 7 A8 8 A9 9 A10 10 A11 11 A12 12 A13 13 A14 14 A15 15 A16 16
A17 17 A18 18 A19 19 }

#[diagnostic::do_not_recommend]
impl<'t, A: for<'x> ArgsOf<'x>> ArgsOf<'t> for Vec<A> {
    type Leaf = Vec<<A as ArgsOf<'t>>::Leaf>;
    type Held = Vec<<A as ArgsOf<'t>>::Held>;
}

// SAFETY: the elements are visited in order, each as its own type.
unsafe impl<'s, B, A: Accesses<'s, B>> Accesses<'s, B> for Vec<A> {
    type Shape = Vec<A::Shape>;
    fn count(&self) -> usize {
        self.iter().map(A::count).sum()
    }
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
        self.iter().map(|a| a.visit(visitor)).collect()
    }
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't,
    {
        // SAFETY: passed on.
        shape.iter().map(|shape| unsafe { A::leaf(shape, args) }).collect()
    }
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't,
    {
        // SAFETY: passed on.
        shape.iter().map(|shape| unsafe { A::held(shape, args) }).collect()
    }
}

#[diagnostic::do_not_recommend]
impl<'t, A: for<'x> ArgsOf<'x>, const N: usize> ArgsOf<'t> for [A; N] {
    type Leaf = [<A as ArgsOf<'t>>::Leaf; N];
    type Held = [<A as ArgsOf<'t>>::Held; N];
}

// SAFETY: the elements are visited in order, each as its own type.
unsafe impl<'s, B, A: Accesses<'s, B>, const N: usize> Accesses<'s, B> for [A; N] {
    type Shape = [A::Shape; N];
    fn count(&self) -> usize {
        self.iter().map(A::count).sum()
    }
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
        std::array::from_fn(|i| self[i].visit(visitor))
    }
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't,
    {
        // SAFETY: passed on.
        std::array::from_fn(|i| unsafe { A::leaf(&shape[i], args) })
    }
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't,
    {
        // SAFETY: passed on.
        std::array::from_fn(|i| unsafe { A::held(&shape[i], args) })
    }
}
