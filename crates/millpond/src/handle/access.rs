//! Accesses: a task's declared uses of handles, and the arguments that its body gets for them.
//!
//! These types let users write closures without types, and let handles hold borrows.
//! `docs/decisions/0002-front-end.md` gives the reasons.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::depend::Mode;
use crate::handle::reduction::{Reducer, ReducerOps, ReducerRef};
use crate::handle::version::State;
use crate::handle::{Datum, Handle, Version};
use crate::task::Form;

mod accumulate;
mod args;
mod compound;
pub use accumulate::{Acc, Accumulate, Accumulator, Contribution};
pub(crate) use accumulate::{Branch, Part};
pub use args::Args;

pub use compound::all;

/// Brand of the handles that any root scope may use, as made by [`Handle::new`]. See [`Handle`].
/// Never a value.
#[derive(Debug)]
pub enum Root {}

/// Brand of the handles that one nested body gets. `'t` is that body's lifetime. See [`Handle`].
/// Never a value. Each body has its own lifetime, so no other body's scope accepts its handles.
#[derive(Debug)]
pub struct In<'t>(PhantomData<fn(&'t ()) -> &'t ()>);

/// Right to every access: for a handle's owner, and for a body that declared `inout`, `commutative`
/// or `reduce`. Like the other rights, it is a type parameter of [`Handle`] and never a value.
#[derive(Debug)]
pub enum Full {}
/// Right of a body that declared `read`: [`CanRead`].
#[derive(Debug)]
pub enum ReadOnly {}
/// Right of a body that declared `write`: [`CanWrite`].
#[derive(Debug)]
pub enum WriteOnly {}
/// Right of a body that declared `concurrent`: [`CanRead`] and [`CanShare`].
#[derive(Debug)]
pub enum ConcOnly {}

/// Rights that include reading. [`Handle::read`] and [`Spawn::wait_on`](crate::Spawn::wait_on) need
/// one.
///
/// These are [`Full`], [`ReadOnly`] and [`ConcOnly`]. A function that is generic over a handle's
/// right asks for it:
///
/// ```
/// use millpond::{CanRead, Handle, Spawn};
///
/// fn print<'s, S: Spawn<'s>, R: CanRead>(s: &S, name: &Handle<String, S::Brand, R>) {
///     s.spawn(name.read(), |name| println!("{name}"));
/// }
/// # let (rt, name) = (millpond::Runtime::new()?, Handle::new(String::from("heron")));
/// # rt.scope(|s| print(s, &name))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "the task declared `write` only: it may neither read the datum nor pass on a read",
    label = "needs the right to read",
    note = "declare `inout` (or `read`) in the `nest` that gave this handle"
)]
pub trait CanRead {
    /// The access mode of a body that waits for the datum.
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

/// Rights that include writing. [`Handle::write`] and [`Spawn::set`](crate::Spawn::set) need one.
/// [`Handle::inout`], [`Handle::commutative`] and [`Handle::reduce`] also need [`CanRead`].
///
/// These are [`Full`] and [`WriteOnly`].
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

/// Rights that include concurrent updates. [`Handle::concurrent`] needs one.
///
/// These are [`Full`] and [`ConcOnly`].
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

/// A declared access. [`Handle::read`] and its siblings return it, and a spawn takes it.
///
/// It borrows the handle: one word (and a reducer), which costs nothing to make or drop. `T` is the
/// datum's type and `M` the mode ([`Read`], [`Write`], …). `B` says which scopes accept it:
/// [`Root`], [`In`], or `S::Brand` in a function for any scope `S`:
///
/// ```
/// use millpond::{Access, Handle, Inout, Runtime, Spawn};
///
/// fn double<'s, S: Spawn<'s>>(s: &S, number: Access<'_, u32, Inout, S::Brand>) {
///     s.spawn(number, |number| *number *= 2);
/// }
///
/// let (rt, number) = (Runtime::new()?, Handle::new(21));
/// rt.scope(|s| double(s, number.inout()))?;
/// assert_eq!(number.into_inner()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an access does nothing until it is passed to a spawn"]
#[derive(Debug)]
pub struct Access<'h, T, M, B> {
    datum: NonNull<Datum>,
    mode: M,
    /// Invariant in `T`, like the handle.
    _of: PhantomData<(&'h T, fn(T) -> T, fn(B) -> B)>,
}

impl<T, M, B> Access<'_, T, M, B> {
    pub(crate) fn new(datum: NonNull<Datum>, mode: M) -> Self {
        Access { datum, mode, _of: PhantomData }
    }
}

/// Mode of [`Handle::read`]: a leaf gets `&T`, a parent a handle with the right [`ReadOnly`].
#[derive(Clone, Copy, Debug)]
pub struct Read;
/// Mode of [`Handle::write`]: a leaf gets [`Out<T>`](Out), a parent a handle with the right
/// [`WriteOnly`].
#[derive(Clone, Copy, Debug)]
pub struct Write;
/// Mode of [`Handle::inout`]: a leaf gets `&mut T`, a parent a handle with the right [`Full`].
#[derive(Clone, Copy, Debug)]
pub struct Inout;
/// Mode of [`Handle::commutative`]: a leaf gets `&mut T`, a parent a handle with the right
/// [`Full`].
#[derive(Clone, Copy, Debug)]
pub struct Commutative;
/// Mode of [`Handle::concurrent`]: a leaf gets `&T`, a parent a handle with the right [`ConcOnly`].
#[derive(Clone, Copy, Debug)]
pub struct Concurrent;
/// Mode of [`Handle::reduce`] with reducer `O`: a leaf gets `&mut T`, a parent a handle with the
/// right [`Full`]. Both refer to a private copy.
#[derive(Clone, Copy, Debug)]
pub struct Reduce<O>(pub(crate) Operation<O>);

/// The reducer of an access, and its functions for the type of the datum.
#[derive(Clone, Copy)]
pub(crate) struct Operation<O> {
    reducer: O,
    ops: &'static ReducerOps,
}

impl<O: std::fmt::Debug> std::fmt::Debug for Operation<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.reducer.fmt(f)
    }
}

impl<O> Operation<O> {
    #[inline(always)]
    pub(crate) fn of<T>(reducer: O) -> Self
    where
        O: Reducer<T>,
    {
        Operation { reducer, ops: ReducerOps::of::<T, O>() }
    }

    #[inline(always)]
    fn erased(&self) -> ReducerRef<'_> {
        // SAFETY: the functions are those of `O`, and of the `T` of the handle that made this.
        unsafe { ReducerRef::new(self.ops, &self.reducer) }
    }
}

/// The storage of a version that a `write` task must fill.
///
/// A task whose body finishes without [`set`](Out::set) or [`insert`](Out::insert) fails as
/// [`Kind::Unwritten`](crate::Kind::Unwritten). Meanwhile, readers of the old version may still use
/// it, unchanged. If the write goes [in place](Handle::in_place), they have finished before.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let (rt, squares) = (Runtime::new()?, Handle::unset());
/// rt.scope(|s| {
///     s.spawn(squares.write(), |mut out| {
///         let mut numbers: Vec<u32> = out.recycled().unwrap_or_default();
///         numbers.clear();
///         out.insert(numbers).extend((1..4).map(|n| n * n));
///     });
/// })?;
/// assert_eq!(squares.into_inner()?, [1, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a `write` that is not set fails the task"]
#[derive(Debug)]
pub struct Out<'t, T> {
    version: &'t Version,
    _writes: PhantomData<&'t mut T>,
}

// SAFETY: the task has the version alone while its body runs, so an `Out` behaves like a
// `&mut Option<T>`.
unsafe impl<T: Send> Send for Out<'_, T> {}

impl<'t, T> Out<'t, T> {
    fn new(version: &'t Version) -> Self {
        version.set_state(State::Unset);
        Out { version, _writes: PhantomData }
    }

    /// Sets the value of the new version.
    ///
    /// # Panics
    ///
    /// If dropping a spent value that [`recycled`](Out::recycled) did not take panics. The task
    /// then fails with that panic.
    #[inline]
    pub fn set(self, value: T) {
        self.insert(value);
    }

    /// Sets the value of the new version and lends it for the rest of the body.
    ///
    /// # Panics
    ///
    /// As for [`set`](Out::set).
    #[inline]
    pub fn insert(self, value: T) -> &'t mut T {
        // SAFETY: the task has the version alone, so no other code uses an old value.
        unsafe { self.version.drop_value_here() };
        let place = self.version.value().cast::<T>();
        // SAFETY: the storage has room for a `T` and holds none.
        unsafe { place.write(value) };
        self.version.produce();
        // SAFETY: the storage holds a `T` that the task has alone for `'t`. `self` is consumed.
        unsafe { &mut *place.as_ptr() }
    }

    /// Takes a spent value of the same datum, if there is one, so that the task can reuse its
    /// memory. Its contents, and whether there is one, depend on the schedule: overwrite all of it.
    pub fn recycled(&mut self) -> Option<T> {
        let full = self.version.is_full();
        self.version.set_full(false);
        // SAFETY: the storage held a value that the task has alone, and it was marked as moved
        // away.
        full.then(|| unsafe { self.version.value().cast().read() })
    }
}

/// The arguments of a body with lifetime `'t`: references for a leaf, handles for a parent.
///
/// Users need not name it: closures infer their types from it. Every type that implements
/// [`Accesses`] implements it. For example, `(a.read(), b.inout())` becomes `(&A, &mut B)` in a
/// leaf.
///
/// Do not name the second parameter. It carries `Self: 't`, so that handles may hold borrows.
pub trait ArgsOf<'t, Implied = &'t Self> {
    /// The argument of a leaf's closure.
    type Leaf;
    /// The argument of a parent's closure.
    type Held;
}

/// The accesses that a task may declare: one access, a tuple of up to 20, an array, a `Vec` or an
/// `Option` of them. They can be nested. A body gets its arguments in the same form.
///
/// `'s` is the scope's lifetime, which the data must outlive. `B` is the scope's brand. A spawn
/// takes time and memory proportional to the number of accesses (32 bytes each), however many tasks
/// use the same data.
///
/// A task may `read` one handle several times, or declare it `concurrent` several times. Any other
/// repetition fails the task as [`Kind::Duplicate`](crate::Kind::Duplicate). ([TG](crate#sources)
/// §2.2 allows no repetition; OpenMP and StarPU allow these.)
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let rt = Runtime::new()?;
/// let (row, weights, total) = ([1, 2, 3].map(Handle::new), Handle::new(vec![2, 3, 4]), Handle::new(0));
/// rt.scope(|s| {
///     let row = row.each_ref().map(Handle::read);
///     s.spawn((total.inout(), (row, weights.read())), |(total, (row, weights))| {
///         *total = row.into_iter().zip(weights).map(|(x, w)| x * w).sum();
///     });
/// })?;
/// assert_eq!(total.into_inner()?, 20);
///
/// // A square by a product: the same handle twice.
/// let (side, area) = (Handle::new(3), Handle::unset());
/// rt.scope(|s| {
///     s.spawn((side.read(), side.read(), area.write()), |(width, height, area)| area.set(width * height));
/// })?;
/// assert_eq!(area.into_inner()?, 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An access that is `None` is absent: it orders nothing, and the body gets `None`. The positions
/// in errors ([`Kind`](crate::Kind)) count only the present accesses.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let (rt, cells) = (Runtime::new()?, [1, 2, 3].map(Handle::new));
/// rt.scope(|s| {
///     for i in 0..cells.len() {
///         // The first cell has no left neighbour.
///         let left = i.checked_sub(1).map(|left| cells[left].read());
///         s.spawn((left, cells[i].inout()), |(left, cell)| *cell += left.unwrap_or(&0));
///     }
/// })?;
/// assert_eq!(cells.map(|cell| cell.into_inner().unwrap()), [1, 3, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Safety
///
/// The associated functions visit the same accesses in the same order. Each function types an
/// access as the record at its position.
#[diagnostic::on_unimplemented(
    message = "this scope may not spawn on `{Self}`",
    label = "not an access that this scope can take",
    note = "say what the task does to a handle: `h.read()`, `h.inout()`, …; of several make a tuple of at most 20, an \
            array or a `Vec`, as by `all(&handles, Handle::read)`; of an optional handle, `h.map(Handle::read)`",
    note = "a nested scope spawns on the handles that its body was given (declare the datum in the `nest`), and on \
            data of its own (`s.handle(…)`); a function for any scope names the scope's type: \
            `fn f<'s, S: Spawn<'s>>(s: &S, h: &Handle<T, S::Brand>)`"
)]
pub unsafe trait Accesses<'s, B>: for<'t> ArgsOf<'t> {
    /// The data that a task keeps between spawn and start, apart from the records: the lengths of
    /// `Vec`s, and which `Option`s are `Some`.
    #[doc(hidden)]
    type Shape: Send;
    /// The modes, as far as the type fixes them.
    #[doc(hidden)]
    const FORM: Form;
    /// Whether some access may be a `reduce`.
    #[doc(hidden)]
    const REDUCES: bool;
    #[doc(hidden)]
    fn count(&self) -> usize;
    #[doc(hidden)]
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape;
    /// # Safety
    /// `visit` of a value of this type made the records that `args` visits, and the task may run.
    #[doc(hidden)]
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't;
    /// # Safety
    /// As for `leaf`. Also, `args` has a frame or views.
    #[doc(hidden)]
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't;
}

/// Visits the accesses of a spawn, one by one.
#[doc(hidden)]
#[expect(private_interfaces, reason = "named by no user: the trait is hidden and has one implementor")]
pub trait Visitor {
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode);
    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>);
    fn accumulate(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        self.reduce(datum, reducer);
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
            const FORM: Form = Form::of($tag);
            const REDUCES: bool = false;
            #[inline]
            fn count(&self) -> usize {
                1
            }
            #[inline(always)]
            fn visit(&self, visitor: &mut impl Visitor) {
                visitor.access(self.datum, $tag);
            }
            #[inline(always)]
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
/// The next access is not a reduction, and has a `T` that may be shared for `'t`.
#[inline]
unsafe fn shared<'t, T>(args: &mut Args<'t>) -> &'t T {
    // SAFETY: as the caller promises.
    unsafe { &*args.version().value().cast().as_ptr() }
}

/// # Safety
///
/// The next access is not a reduction, and has a `T` that the task has alone for `'t`.
#[inline]
unsafe fn exclusive<'t, T>(args: &mut Args<'t>) -> &'t mut T {
    // SAFETY: as the caller promises.
    unsafe { &mut *args.version().value().cast().as_ptr() }
}

// The argument of a leaf for each mode. These references are sound: the scheme has granted the
// access, the version was checked to be produced, and conflicting accesses wait for its release.
// `Handle::read` and its siblings check that `T` may be used on the worker's thread. A second check
// here would report the same error twice.
modes! {
    // SAFETY: `read` was granted: no task writes meanwhile.
    Read, Mode::Read, ReadOnly, &'t T, |args| unsafe { shared(args) };
    Write, Mode::Write, WriteOnly, Out<'t, T>, |args| Out::new(args.version());
    // SAFETY: `inout` was granted: no other task uses the value.
    Inout, Mode::Inout, Full, &'t mut T, |args| unsafe { exclusive(args) };
    // SAFETY: `commutative` was granted, and the task holds the exclusion: no other task uses the
    // value.
    Commutative, Mode::Commutative, Full, &'t mut T, |args| unsafe { exclusive(args) };
    // SAFETY: `concurrent` was granted: other tasks have only shared references.
    Concurrent, Mode::Concurrent, ConcOnly, &'t T, |args| unsafe { shared(args) };
}

#[diagnostic::do_not_recommend]
impl<'t, T, O, B> ArgsOf<'t> for Access<'_, T, Reduce<O>, B> {
    type Leaf = &'t mut T;
    type Held = Handle<T, In<'t>, Full>;
}

// SAFETY: one access, one record, typed as the handle's `T`.
unsafe impl<'s, T: 's, O: Copy, B> Accesses<'s, B> for Access<'_, T, Reduce<O>, B> {
    type Shape = ();
    const FORM: Form = Form::Other;
    const REDUCES: bool = true;
    fn count(&self) -> usize {
        1
    }
    #[inline(always)]
    fn visit(&self, visitor: &mut impl Visitor) {
        visitor.reduce(self.datum, self.mode.0.erased());
    }
    unsafe fn leaf<'t>((): &(), args: &mut Args<'t>) -> &'t mut T
    where
        Self: 't,
    {
        // SAFETY: the private copy belongs to this task alone.
        unsafe { &mut *args.place().1.cast().as_ptr() }
    }
    unsafe fn held<'t>((): &(), args: &mut Args<'t>) -> Handle<T, In<'t>, Full>
    where
        Self: 't,
    {
        args.handle()
    }
}
