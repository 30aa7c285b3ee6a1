//! The declared accesses of a portable task, and the matching accesses of a spawn.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use millpond::{
    Acc, Access, Accesses, Accumulate, Accumulator, ArgsOf, Contribution, Full, Handle, In, Inout, Out, Read, ReadOnly,
    Reducer, Write, WriteOnly,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Values for sending to another process: they implement serde's traits and `Send`, and borrow
/// nothing.
///
/// All such types implement it, and no others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot go to another process",
    label = "of a portable task, or of the data it uses, and not serde",
    note = "derive `serde::Serialize` and `serde::Deserialize`; it must also be `Send` and without borrows"
)]
// Serde's traits are no supertraits, because the compiler's errors would then name them, too, and
// twice.
pub trait Value: Sized + Send + 'static {
    #[doc(hidden)]
    fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error>;
    /// Reads a value from the beginning of `bytes`. Returns it and the remaining bytes.
    #[doc(hidden)]
    fn from_bytes(bytes: &[u8]) -> Result<(Self, &[u8]), postcard::Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Value for T {
    fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_allocvec(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, &[u8]), postcard::Error> {
        postcard::take_from_bytes(bytes)
    }
}

/// Declares a `read`; `T` must be `Sync`. A leaf gets `&T`, a parent a handle with the right
/// [`ReadOnly`].
#[derive(Debug)]
pub struct R<T>(PhantomData<fn() -> T>);
/// Declares a `write`. A leaf gets [`Out<T>`](Out), a parent a handle with the right [`WriteOnly`].
#[derive(Debug)]
pub struct W<T>(PhantomData<fn() -> T>);
/// Declares an `inout`. A leaf gets `&mut T`, a parent a handle with the right [`Full`].
#[derive(Debug)]
pub struct Rw<T>(PhantomData<fn() -> T>);
/// Declares an `accumulate` with a zero-sized reducer, such as [`Sum`](millpond::Sum). A leaf gets
/// an [`Acc`], a parent an [`Accumulator`]. (Athapascan's access `cw`.)
///
/// ```
/// use millpond::{Acc, Handle, Runtime, Spawn, Sum};
/// use millpond_dist::{Cw, Portable, SpawnPortable, portable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Count {
///     found: u64,
/// }
///
/// impl Portable for Count {
///     type Access = Cw<u64, Sum>;
///
///     fn run(self, mut total: Acc<'_, u64, Sum>) {
///         total.add(self.found);
///     }
/// }
///
/// portable!(Count, "count");
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (rt, total) = (Runtime::new()?, Handle::new(0));
/// rt.scope(|s| {
///     for found in 0..10 {
///         s.spawn_portable(total.accumulate(Sum), Count { found });
///     }
/// })?;
/// assert_eq!(total.into_inner()?, 45);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Cw<T, O>(PhantomData<fn() -> (T, O)>);

/// The mode of a declared access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// [`R`]
    Read,
    /// [`W`]
    Write,
    /// [`Rw`]
    Inout,
    /// [`Cw`]
    Accumulate,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Read => "read",
            Mode::Write => "write",
            Mode::Inout => "inout",
            Mode::Accumulate => "accumulate",
        })
    }
}

/// One declared access: its mode, and the type of the datum.
#[derive(Clone, Copy, Debug)]
pub struct AccessKind {
    mode: Mode,
    size: usize,
    of: fn() -> &'static str,
}

impl AccessKind {
    const fn of<T>(mode: Mode) -> Self {
        AccessKind { mode, size: size_of::<T>(), of: type_name::<T> }
    }

    /// The task's mode on the datum.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The bytes of the datum in memory, without pointees.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name of the datum's type, for messages.
    pub fn type_name(&self) -> &'static str {
        (self.of)()
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.mode, self.type_name())
    }
}

/// The possible declarations of a portable task: [`R`], [`W`], [`Rw`] or [`Cw`] of a [`Value`], or
/// a tuple of up to 8 of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a portable task can declare",
    label = "not `R<T>`, `W<T>`, `Rw<T>`, `Cw<T, O>` or a tuple of at most 8 of them"
)]
pub trait Declared: 'static {
    /// The arguments of a leaf.
    type Leaf<'t>;
    /// The arguments of a parent.
    type Held<'t>;
    /// The accesses, in order.
    const KINDS: &'static [AccessKind];
}

/// One access, not a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an access that a portable task can declare",
    label = "not `R<T>`, `W<T>`, `Rw<T>` or `Cw<T, O>`"
)]
pub trait One: Declared {
    #[doc(hidden)]
    const KIND: AccessKind;
}

/// A declaration that accepts the accesses `A` of a spawn in a scope with the brand `B`. They must
/// have the same modes and types, in the same order.
#[diagnostic::on_unimplemented(
    message = "the task declares `{Self}`, the spawn passes `{A}`",
    label = "the task's `Access` and the accesses of the spawn do not match",
    note = "`R<T>` takes `h.read()`, `W<T>` takes `h.write()`, `Rw<T>` takes `h.inout()`, `Cw<T, O>` takes \
            `h.accumulate(O)`, each of a `Handle<T>` that this scope may spawn on; below a parent that accumulates, \
            `Cw<T, O>` takes `total.accumulate()`"
)]
pub trait Takes<'s, A, B>: Declared {
    /// `A`, with a bound on the arguments of a body.
    #[doc(hidden)]
    type Accesses: Accesses<'s, B> + for<'t> ArgsOf<'t, Leaf = Self::Leaf<'t>, Held = Self::Held<'t>>;
    #[doc(hidden)]
    fn take(accesses: A) -> Self::Accesses;
}

macro_rules! modes {
    ($($declared:ident<T: $($bound:ident)+>, $mode:ident, $right:ident, $leaf:ty;)*) => {$(
        impl<T: $($bound +)+> Declared for $declared<T> {
            type Leaf<'t> = $leaf;
            type Held<'t> = Handle<T, In<'t>, $right>;
            const KINDS: &'static [AccessKind] = &[Self::KIND];
        }
        impl<T: $($bound +)+> One for $declared<T> {
            const KIND: AccessKind = AccessKind::of::<T>(Mode::$mode);
        }
        #[diagnostic::do_not_recommend]
        impl<'s, 'h, T: $($bound +)+, B> Takes<'s, Access<'h, T, $mode, B>, B> for $declared<T> {
            type Accesses = Access<'h, T, $mode, B>;
            #[inline(always)]
            fn take(accesses: Self::Accesses) -> Self::Accesses {
                accesses
            }
        }
    )*};
}
modes! {
    R<T: Value Sync>, Read, ReadOnly, &'t T;
    W<T: Value>, Write, WriteOnly, Out<'t, T>;
    Rw<T: Value>, Inout, Full, &'t mut T;
}

impl<T: Value, O: Reducer<T> + Default> Declared for Cw<T, O> {
    type Leaf<'t> = Acc<'t, T, O>;
    type Held<'t> = Accumulator<T, O, In<'t>>;
    const KINDS: &'static [AccessKind] = &[Self::KIND];
}
impl<T: Value, O: Reducer<T> + Default> One for Cw<T, O> {
    const KIND: AccessKind = {
        // Otherwise the spawn's reducer could differ from the receiving process's.
        assert!(size_of::<O>() == 0, "the reducer of a portable task holds nothing: a struct without fields");
        AccessKind::of::<T>(Mode::Accumulate)
    };
}
#[diagnostic::do_not_recommend]
impl<'s, 'h, T: Value, O: Reducer<T> + Default, B> Takes<'s, Access<'h, T, Accumulate<O>, B>, B> for Cw<T, O> {
    type Accesses = Access<'h, T, Accumulate<O>, B>;
    #[inline(always)]
    fn take(accesses: Self::Accesses) -> Self::Accesses {
        accesses
    }
}
#[diagnostic::do_not_recommend]
impl<'s, 'h, T: Value, O: Reducer<T> + Default, B> Takes<'s, Contribution<'h, T, O, B>, B> for Cw<T, O> {
    type Accesses = Contribution<'h, T, O, B>;
    #[inline(always)]
    fn take(accesses: Self::Accesses) -> Self::Accesses {
        accesses
    }
}

macro_rules! tuples {
    ($($a:ident $d:ident)*) => {
        impl<$($d: One),*> Declared for ($($d,)*) {
            type Leaf<'t> = ($($d::Leaf<'t>,)*);
            type Held<'t> = ($($d::Held<'t>,)*);
            const KINDS: &'static [AccessKind] = &[$($d::KIND),*];
        }
        impl<'s, Brand, $($a, $d: One + Takes<'s, $a, Brand>),*> Takes<'s, ($($a,)*), Brand> for ($($d,)*) {
            type Accesses = ($($d::Accesses,)*);
            #[inline(always)]
            #[allow(clippy::unused_unit, reason = "the empty tuple")]
            fn take(accesses: ($($a,)*)) -> Self::Accesses {
                #[allow(non_snake_case)]
                let ($($a,)*) = accesses;
                ($($d::take($a),)*)
            }
        }
    };
}
tuples! {}
tuples! { A0 D0 }
tuples! { A0 D0 A1 D1 }
tuples! { A0 D0 A1 D1 A2 D2 }
tuples! { A0 D0 A1 D1 A2 D2 A3 D3 }
tuples! { A0 D0 A1 D1 A2 D2 A3 D3 A4 D4 }
tuples! { A0 D0 A1 D1 A2 D2 A3 D3 A4 D4 A5 D5 }
tuples! { A0 D0 A1 D1 A2 D2 A3 D3 A4 D4 A5 D5 A6 D6 }
tuples! { A0 D0 A1 D1 A2 D2 A3 D3 A4 D4 A5 D5 A6 D6 A7 D7 }
