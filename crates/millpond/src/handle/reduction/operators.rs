//! The usual reducers, and the types that they combine.

use std::mem;

use super::Reducer;

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident: $bound:path, |$like:ident| $identity:expr, |$into:ident, $part:ident| $combine:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl<T: $bound> Reducer<T> for $name {
            fn identity(&self, $like: &T) -> T {
                $identity
            }
            fn combine(&self, $into: &mut T, $part: T) {
                $combine
            }
            fn absorb(&self, into: &mut T, part: &mut T) -> bool {
                let identity = self.identity(part);
                self.combine(into, mem::replace(part, identity));
                true
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
    /// Keeps the smallest number. NaN is ignored, also in the datum if there is a number.
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
    Min: Number, |_like| T::MAX_VALUE, |into, part| if part < *into || is_nan(*into) { *into = part };
    /// Keeps the largest number. NaN is ignored, also in the datum if there is a number.
    ///
    /// The first value counts too:
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
    Max: Number, |_like| T::MIN_VALUE, |into, part| if part > *into || is_nan(*into) { *into = part };
    /// Conjunction of truth values or bits. A part starts as true, or all ones:
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
    /// Disjunction of truth values or bits. A part starts as false, or 0:
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
}

/// Appends the elements that each task collected. The order is the reference order only under
/// `deterministic(true)`.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Append;

impl<T: Collects> Reducer<T> for Append {
    // In a tree, every level would move all elements.
    const LARGE: bool = false;

    fn identity(&self, _like: &T) -> T {
        T::default()
    }
    fn combine(&self, into: &mut T, part: T) {
        into.append_all(part);
    }
    fn absorb(&self, into: &mut T, part: &mut T) -> bool {
        into.drain_all(part);
        true
    }
}

/// Parts are merged with each other, so either operand may be NaN.
fn is_nan<T: PartialOrd>(value: T) -> bool {
    value.partial_cmp(&value).is_none()
}

/// The types that [`Sum`], [`Prod`], [`Min`] and [`Max`] reduce: the primitive numbers. Integers
/// wrap.
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
    const MAX_VALUE: Self;
    /// Not greater than any number.
    const MIN_VALUE: Self;
    /// The former name of [`MAX_VALUE`](Number::MAX_VALUE).
    #[deprecated(note = "renamed to `MAX_VALUE`")]
    const GREATEST: Self = Self::MAX_VALUE;
    /// The former name of [`MIN_VALUE`](Number::MIN_VALUE).
    #[deprecated(note = "renamed to `MIN_VALUE`")]
    const LEAST: Self = Self::MIN_VALUE;
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
}

/// The types that [`And`] and [`Or`] reduce: `bool` and the unsigned integers.
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

/// The types that [`Append`] reduces: growing collections.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not collect: `Append` reduces collections that grow, such as `Vec` and `String`",
    label = "does not combine values of type `{Self}`",
    note = "numbers are reduced with `Sum`, `Prod`, `Min` or `Max`, anything else with a `Reducer<{Self}>` of your own"
)]
pub trait Collects: Default {
    /// Moves all elements of `part` to the end of `self`.
    fn append_all(&mut self, part: Self);
    /// Like `append_all`, but leaves `part` empty. `part` should keep its storage, so that another
    /// task can reuse it.
    fn drain_all(&mut self, part: &mut Self) {
        self.append_all(mem::take(part));
    }
}

macro_rules! numbers {
    ($($t:ty: $one:expr, $least:expr, $greatest:expr, |$a:ident, $b:ident| $plus:expr, $times:expr;)*) => {$(
        impl Number for $t {
            const ZERO: Self = $one - $one;
            const ONE: Self = $one;
            const MAX_VALUE: Self = $greatest;
            const MIN_VALUE: Self = $least;
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
    fn drain_all(&mut self, part: &mut Self) {
        self.append(part);
    }
}

impl Collects for String {
    fn append_all(&mut self, part: Self) {
        self.push_str(&part);
    }
    fn drain_all(&mut self, part: &mut Self) {
        self.push_str(part);
        part.clear();
    }
}
