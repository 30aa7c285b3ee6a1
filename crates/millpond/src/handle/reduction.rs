//! Reductions: private copies that start as the identity, combined before the next other access (TG §2.2).
//!
//! All `reduce` accesses of one generation share a [`Reduction`]. Each task computes its part on a private copy. When
//! an access of another kind follows, or the scope ends, the front end first spawns a *combine* task, which a scheme
//! sees as an `inout`: no scheme needs to know about reductions.
//!
//! Parts are merged as they come, so that memory is bounded by the tasks that run at once; under `deterministic`
//! they are kept and combined in reference order.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;

use super::datum::Datum;
use super::version::{Dropped, Version};
use crate::caught::catch;
use crate::error::Label;
use crate::sync::Mutex;

/// How values are combined: an associative and commutative operation with an identity (TG §2.2).
///
/// Tasks whose reducers are equal (`==`, same type) belong to one generation and run at once. A closure could not say
/// that it equals another; hence a trait. A panic in [`identity`](Reducer::identity) or [`combine`](Reducer::combine)
/// fails the task for which it is called.
///
/// The comparison runs in the middle of a spawn, so it should do nothing else. If it panics, the reducers count as
/// unequal; and it panics if it uses the session on which the task is spawned; or, while a thread that is no worker of
/// the session's runtime spawns on it, opens a scope or uses another session. A fork in it runs one half after the
/// other then. It must not wait in other ways either, by a channel, a lock or a thread: of the threads that are no
/// workers, one at a time spawns on the sessions of a runtime, and who is waited for may have to wait for its turn.
///
/// ```
/// use millpond::{Handle, Reducer, Runtime, Spawn};
///
/// #[derive(Clone, Copy, PartialEq, Eq)]
/// struct Longest;
/// impl Reducer<String> for Longest {
///     fn identity(&self, _like: &String) -> String {
///         String::new()
///     }
///     fn combine(&self, into: &mut String, part: String) {
///         if (part.len(), &part) > (into.len(), into) {
///             *into = part;
///         }
///     }
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let longest = Handle::new(String::from("ox"));
/// rt.scope(|s| {
///     for word in ["a", "heron", "carp"] {
///         s.spawn(longest.reduce(Longest), move |part| part.push_str(word));
///     }
/// })?;
/// assert_eq!(longest.into_inner()?, "heron");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how values of type `{T}` are combined",
    label = "not a reducer of `{T}`",
    note = "use a reducer that fits (`Sum`, `Prod`, `Min`, `Max`: numbers; `And`, `Or`: bits; `Append`: collections), \
            or implement `Reducer<{T}>` for a type of your own"
)]
pub trait Reducer<T>: Copy + Eq + Send + Sync + 'static {
    /// The neutral element, shaped like the datum (a tile's size is known at run time only).
    fn identity(&self, like: &T) -> T;
    /// Combines a part into a value.
    fn combine(&self, into: &mut T, part: T);
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident: $bound:path, |$like:ident| $identity:expr, |$into:ident, $part:ident| $combine:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl<T: $bound> Reducer<T> for $name {
            fn identity(&self, $like: &T) -> T {
                $identity
            }
            fn combine(&self, $into: &mut T, $part: T) {
                $combine
            }
        }
    )*};
}

operators! {
    /// Adds numbers. Integers wrap:
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn, Sum};
    /// # let rt = Runtime::new()?;
    /// let total = Handle::new(200_u8);
    /// rt.scope(|s| {
    ///     s.spawn(total.reduce(Sum), |part| *part += 100);
    /// })?;
    /// assert_eq!(total.into_inner()?, 44);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Sum: Number, |_like| T::ZERO, |into, part| *into = into.plus(part);
    /// Multiplies numbers. A part starts as 1:
    ///
    /// ```
    /// # use millpond::{Handle, Prod, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let factorial = Handle::new(1);
    /// rt.scope(|s| {
    ///     for n in 1..=5 {
    ///         s.spawn(factorial.reduce(Prod), move |part| *part *= n);
    ///     }
    /// })?;
    /// assert_eq!(factorial.into_inner()?, 120);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Prod: Number, |_like| T::ONE, |into, part| *into = into.times(part);
    /// Keeps the smallest number; NaN is ignored, in the datum too if there is a number.
    ///
    /// A part starts as the greatest number, so a task that finds none changes nothing:
    ///
    /// ```
    /// # use millpond::{Handle, Min, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let nearest = Handle::new(f64::INFINITY);
    /// rt.scope(|s| {
    ///     for block in [vec![2.5, 1.5], vec![], vec![3.0]] {
    ///         s.spawn(nearest.reduce(Min), move |part| *part = block.into_iter().fold(*part, f64::min));
    ///     }
    /// })?;
    /// assert_eq!(nearest.into_inner()?, 1.5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Min: Number, |_like| T::GREATEST, |into, part| if part < *into || is_nan(*into) { *into = part };
    /// Keeps the largest number; NaN is ignored, in the datum too if there is a number.
    ///
    /// The first value takes part, too:
    ///
    /// ```
    /// # use millpond::{Handle, Max, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let deepest = Handle::new(7);
    /// rt.scope(|s| {
    ///     for depth in [3, 5] {
    ///         s.spawn(deepest.reduce(Max), move |part| *part = depth);
    ///     }
    /// })?;
    /// assert_eq!(deepest.into_inner()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Max: Number, |_like| T::LEAST, |into, part| if part > *into || is_nan(*into) { *into = part };
    /// Conjunction: of truth values, of bits. A part starts as true, or all ones:
    ///
    /// ```
    /// # use millpond::{And, Handle, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let sorted = Handle::new(true);
    /// rt.scope(|s| {
    ///     for block in [[1, 2, 3], [3, 5, 4]] {
    ///         s.spawn(sorted.reduce(And), move |part| *part &= block.is_sorted());
    ///     }
    /// })?;
    /// assert!(!sorted.into_inner()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    And: Bits, |_like| T::ALL, |into, part| *into = into.and(part);
    /// Disjunction: of truth values, of bits. A part starts as false, or 0:
    ///
    /// ```
    /// # use millpond::{Handle, Or, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let seen = Handle::new(0_u32);
    /// rt.scope(|s| {
    ///     for digit in [3, 1, 3] {
    ///         s.spawn(seen.reduce(Or), move |part| *part |= 1 << digit);
    ///     }
    /// })?;
    /// assert_eq!(seen.into_inner()?, 0b1010);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Or: Bits, |_like| T::NONE, |into, part| *into = into.or(part);
    /// Appends what each task collected; in reference order only under `deterministic(true)`.
    ///
    /// ```
    /// # use millpond::{Append, Handle, Runtime, Spawn};
    /// let rt = Runtime::builder().workers(2).deterministic(true).build()?;
    /// let text = Handle::new(String::new());
    /// rt.scope(|s| {
    ///     for word in ["mill", "pond"] {
    ///         s.spawn(text.reduce(Append), move |part| part.push_str(word));
    ///     }
    /// })?;
    /// assert_eq!(text.into_inner()?, "millpond");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Append: Collects, |_like| T::default(), |into, part| into.append_all(part);
}

/// Parts are merged among themselves, so either side of an operator may hold one that is not a number.
fn is_nan<T: PartialOrd>(value: T) -> bool {
    value.partial_cmp(&value).is_none()
}

/// What [`Sum`], [`Prod`], [`Min`] and [`Max`] work on: the primitive numbers. Integers wrap.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number: `Sum`, `Prod`, `Min` and `Max` reduce primitive numbers only",
    label = "does not combine values of type `{Self}`",
    note = "collections are reduced with `Append`, anything else with a `Reducer<{Self}>` of your own"
)]
pub trait Number: Copy + PartialOrd {
    /// Neutral under addition.
    const ZERO: Self;
    /// Neutral under multiplication.
    const ONE: Self;
    /// Not less than any number.
    const GREATEST: Self;
    /// Not greater than any number.
    const LEAST: Self;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
}

/// What [`And`] and [`Or`] work on: `bool` and the unsigned integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bits: `And` and `Or` reduce `bool` and the unsigned integers only",
    label = "does not combine values of type `{Self}`",
    note = "numbers are reduced with `Sum`, `Prod`, `Min` or `Max`, anything else with a `Reducer<{Self}>` of your own"
)]
pub trait Bits: Copy {
    /// Neutral under conjunction.
    const ALL: Self;
    /// Neutral under disjunction.
    const NONE: Self;
    /// The conjunction.
    fn and(self, other: Self) -> Self;
    /// The disjunction.
    fn or(self, other: Self) -> Self;
}

/// What [`Append`] works on: growing collections.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not collect: `Append` reduces collections that grow, such as `Vec` and `String`",
    label = "does not combine values of type `{Self}`",
    note = "numbers are reduced with `Sum`, `Prod`, `Min` or `Max`, anything else with a `Reducer<{Self}>` of your own"
)]
pub trait Collects: Default {
    /// Moves all of `part` behind what is there.
    fn append_all(&mut self, part: Self);
}

macro_rules! numbers {
    ($($t:ty: $one:expr, $least:expr, $greatest:expr, |$a:ident, $b:ident| $plus:expr, $times:expr;)*) => {$(
        impl Number for $t {
            const ZERO: Self = $one - $one;
            const ONE: Self = $one;
            const GREATEST: Self = $greatest;
            const LEAST: Self = $least;
            fn plus(self, $b: Self) -> Self {
                let $a = self;
                $plus
            }
            fn times(self, $b: Self) -> Self {
                let $a = self;
                $times
            }
        }
    )*};
    (integers $($t:ty)*) => { numbers! { $($t: 1, <$t>::MIN, <$t>::MAX, |a, b| a.wrapping_add(b), a.wrapping_mul(b);)* } };
    (floats $($t:ty)*) => { numbers! { $($t: 1.0, <$t>::NEG_INFINITY, <$t>::INFINITY, |a, b| a + b, a * b;)* } };
}
numbers!(integers u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
numbers!(floats f32 f64);

macro_rules! bits {
    ($($t:ty: $all:expr, $none:expr;)*) => {$(
        impl Bits for $t {
            const ALL: Self = $all;
            const NONE: Self = $none;
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
        }
    )*};
}
bits! { bool: true, false; u8: !0, 0; u16: !0, 0; u32: !0, 0; u64: !0, 0; u128: !0, 0; usize: !0, 0; }

impl<T> Collects for Vec<T> {
    fn append_all(&mut self, mut part: Self) {
        self.append(&mut part);
    }
}

impl Collects for String {
    fn append_all(&mut self, part: Self) {
        self.push_str(&part);
    }
}

/// One generation of `reduce` accesses.
pub struct Reduction {
    version: NonNull<Version>,
    /// Whose open reduction this is or was; the reduction owns one of its parts.
    datum: NonNull<Datum>,
    operator: Box<dyn Operator>,
    /// Of the first member: the combine task goes by it.
    label: Label,
    ordered: bool,
    /// Taken around `Reducer::identity`, which looks at the value: `T` need not be `Sync`.
    looking: Mutex<()>,
    parts: Mutex<Vec<Part>>,
}

impl std::fmt::Debug for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reduction").field("ordered", &self.ordered).finish_non_exhaustive()
    }
}

struct Part {
    order: u64,
    value: NonNull<()>,
}

/// A reducer whose types are forgotten. `like`, `into` and `part` point to values of its `T`.
trait Operator {
    fn is(&self, kind: TypeId, other: &dyn Any) -> bool;
    /// # Safety
    /// `like` points to a `T` that nobody writes or looks at meanwhile.
    unsafe fn identity(&self, like: NonNull<()>) -> NonNull<()>;
    /// # Safety
    /// `into` points to a `T` that the caller has alone; `part` came from `identity` and is given up.
    unsafe fn combine(&self, into: NonNull<()>, part: NonNull<()>);
    /// # Safety
    /// `part` came from `identity` and is given up; it holds a value if `full`.
    unsafe fn discard(&self, part: NonNull<()>, full: bool) -> Dropped;
}

struct Typed<T, O>(O, PhantomData<fn(T)>);

impl<T, O: Reducer<T>> Operator for Typed<T, O> {
    fn is(&self, kind: TypeId, other: &dyn Any) -> bool {
        // A comparison that panics must not unwind through a spawn: such reducers are equal to none.
        let equal = || other.downcast_ref::<O>() == Some(&self.0);
        kind == TypeId::of::<O>() && catch(equal).unwrap_or(false)
    }

    unsafe fn identity(&self, like: NonNull<()>) -> NonNull<()> {
        // SAFETY: as the caller promises.
        let value = self.0.identity(unsafe { like.cast().as_ref() });
        NonNull::from(Box::leak(Box::new(value))).cast()
    }

    unsafe fn combine(&self, into: NonNull<()>, part: NonNull<()>) {
        // SAFETY: `identity` leaked a box of this type and the caller gives it up.
        let part = unsafe { Box::from_raw(part.cast::<T>().as_ptr()) };
        // SAFETY: the caller has `into` alone.
        self.0.combine(unsafe { into.cast().as_mut() }, *part);
    }

    unsafe fn discard(&self, part: NonNull<()>, full: bool) -> Dropped {
        // SAFETY: `identity` leaked a box of this layout and the caller gives it up.
        let mut part = unsafe { Box::from_raw(part.cast::<MaybeUninit<T>>().as_ptr()) };
        if !full {
            return Ok(());
        }
        // SAFETY: the box holds a value, which is dropped once.
        catch(|| unsafe { part.assume_init_drop() })
    }
}

/// What an access token tells the front end about its reducer.
pub(crate) struct ReducerRef<'a> {
    pub(crate) kind: TypeId,
    pub(crate) operator: &'a dyn Any,
    make: &'a dyn Fn() -> Box<dyn Operator>,
}

/// Calls `with` with the description of a reducer.
pub(crate) fn describe<T, O: Reducer<T>, R>(operator: O, with: impl FnOnce(ReducerRef<'_>) -> R) -> R {
    let make = || {
        let typed: Box<dyn Operator + '_> = Box::new(Typed::<T, O>(operator, PhantomData));
        // SAFETY: only the lifetimes in `T` are forgotten; the reduction is freed before the scope whose tasks
        // touch a `T` ends, or with the datum that holds one.
        unsafe { mem::transmute::<Box<dyn Operator + '_>, Box<dyn Operator>>(typed) }
    };
    with(ReducerRef { kind: TypeId::of::<O>(), operator: &operator, make: &make })
}

impl Reduction {
    /// A reduction into the current version of `datum`, whose part the caller has counted.
    pub(crate) fn open(
        datum: NonNull<Datum>,
        reducer: &ReducerRef<'_>,
        label: Label,
        ordered: bool,
    ) -> NonNull<Reduction> {
        // SAFETY: the caller holds the datum's handle.
        let version = unsafe { datum.as_ref() }.current();
        let operator = (reducer.make)();
        let (looking, parts) = (Mutex::new(()), Mutex::new(Vec::new()));
        NonNull::from(Box::leak(Box::new(Reduction { version, datum, operator, label, ordered, looking, parts })))
    }

    pub(crate) fn version_at(&self) -> NonNull<Version> {
        self.version
    }

    pub(crate) fn version(&self) -> &Version {
        // SAFETY: the version has an access outstanding (the members', then the combine task's), so it lives.
        unsafe { self.version.as_ref() }
    }

    /// The label of the first member.
    pub(crate) fn label(&self) -> Label {
        self.label
    }

    pub(crate) fn datum(&self) -> NonNull<Datum> {
        self.datum
    }

    pub(crate) fn is(&self, reducer: &ReducerRef<'_>) -> bool {
        self.operator.is(reducer.kind, reducer.operator)
    }

    /// A private copy for one task. May panic as the reducer does.
    pub(crate) fn part(&self) -> NonNull<()> {
        let _guard = self.looking.lock();
        // SAFETY: the version was produced, members do not write it, and the lock keeps other looks away.
        unsafe { self.operator.identity(self.version().value()) }
    }

    /// Takes a task's finished part. May panic as the reducer does.
    pub(crate) fn contribute(&self, order: u64, value: NonNull<()>) {
        let mine = Part { order, value };
        loop {
            let mut parts = self.parts.lock();
            let Some(other) = (!self.ordered).then(|| parts.pop()).flatten() else {
                parts.push(mine);
                return;
            };
            drop(parts);
            // SAFETY: both parts came from `identity`; the other was taken off the list, this one is the caller's.
            let merge = || unsafe { self.operator.combine(mine.value, other.value) };
            if let Err(caught) = catch(merge) {
                self.discard(mine.value, true);
                caught.resume();
            }
        }
    }

    /// Drops a part that will not be combined, with its value if it is `full`. What the drop throws is forgotten: the
    /// task that made the part has failed already.
    pub(crate) fn discard(&self, part: NonNull<()>, full: bool) {
        // SAFETY: the part came from `part` and its owner gives it up.
        let _has_failed_already = unsafe { self.operator.discard(part, full) };
    }

    /// Combines all parts into the version. May panic as the reducer does; what is left is dropped with the reduction.
    pub(crate) fn combine(&self) {
        self.parts.lock().sort_by_key(|part| std::cmp::Reverse(part.order));
        loop {
            let Some(part) = self.parts.lock().pop() else { return };
            // SAFETY: the combine task has the version alone (it is an `inout`), which was produced; the part came
            // from `identity` and was taken off the list.
            unsafe { self.operator.combine(self.version().value(), part.value) };
        }
    }

    /// Frees a reduction with what was not combined.
    ///
    /// # Safety
    ///
    /// No task uses it any more.
    pub(crate) unsafe fn free(this: NonNull<Reduction>) {
        // SAFETY: `open` leaked a box.
        let reduction = unsafe { Box::from_raw(this.as_ptr()) };
        for part in mem::take(&mut *reduction.parts.lock()) {
            reduction.discard(part.value, true);
        }
    }
}
