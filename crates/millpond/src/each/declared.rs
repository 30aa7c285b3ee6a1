//! Loops over declared data: accesses whose argument is a source of items.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use super::items::{Chunks, ChunksMut, Items, Zip, checked};
use crate::handle::Handle;
use crate::handle::access::{
    Access, Accesses, Args, ArgsOf, CanRead, CanWrite, Full, In, Inout, Read, ReadOnly, Visitor,
};
use crate::task::Form;

/// The access to a datum whose chunks are the items of a loop. Made by [`Handle::chunks`] and
/// [`Handle::chunks_mut`].
///
/// [`Spawn::for_each`](crate::Spawn::for_each) takes it. It is also an access like any other: the
/// body of a [`spawn`](crate::Spawn::spawn) gets the [`Chunks`] or [`ChunksMut`], and the body of a
/// [`nest`](crate::Spawn::nest) gets a handle.
#[must_use = "an access does nothing until it is passed to a spawn"]
#[derive(Debug)]
pub struct InChunks<A, T> {
    access: A,
    size: usize,
    _elements: PhantomData<fn(T) -> T>,
}

/// The items of a loop over declared data in a task with lifetime `'t`.
///
/// Users need not name it: closures infer their types from it. Each access implements it whose
/// argument is a source of items ([`Items`]): the access to a slice or a `Vec`, [`InChunks`], a
/// range of `usize`, a [`zip`](super::zip) of such accesses, and a tuple that begins with one.
pub trait ItemsOf<'t, Implied = &'t Self>: ArgsOf<'t, Implied> {
    /// What the body of the loop gets.
    type Item;
    #[doc(hidden)]
    type Items: Items<Item = Self::Item>;
    #[doc(hidden)]
    fn items(leaf: Self::Leaf) -> Self::Items;
}

impl<'t, L> ItemsOf<'t> for L
where
    L: ArgsOf<'t>,
    L::Leaf: Items,
{
    type Item = <L::Leaf as Items>::Item;
    type Items = L::Leaf;
    fn items(leaf: L::Leaf) -> L::Leaf {
        leaf
    }
}

macro_rules! in_chunks {
    ($($mode:ty, $right:ty, $deref:ident, $chunks:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'t, V: $deref<Target = [T]>, T, B> ArgsOf<'t> for InChunks<Access<'_, V, $mode, B>, T> {
            type Leaf = $chunks<'t, T>;
            type Held = Handle<V, In<'t>, $right>;
        }

        // SAFETY: it visits what its access visits.
        #[diagnostic::do_not_recommend]
        unsafe impl<'s, V, T, B> Accesses<'s, B> for InChunks<Access<'_, V, $mode, B>, T>
        where
            V: $deref<Target = [T]> + 's,
            T: 's,
        {
            /// The size of a chunk.
            type Shape = usize;
            const FORM: Form = <Access<'_, V, $mode, B> as Accesses<'s, B>>::FORM;
            const REDUCES: bool = false;
            #[inline]
            fn count(&self) -> usize {
                1
            }
            #[inline(always)]
            fn visit(&self, visitor: &mut impl Visitor) -> usize {
                self.access.visit(visitor);
                self.size
            }
            #[inline(always)]
            unsafe fn leaf<'t>(size: &usize, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
            where
                Self: 't,
            {
                // SAFETY: passed on.
                $chunks::new(unsafe { <Access<'_, V, $mode, B> as Accesses<'s, B>>::leaf(&(), args) }, *size)
            }
            unsafe fn held<'t>(_: &usize, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
            where
                Self: 't,
            {
                // SAFETY: passed on.
                unsafe { <Access<'_, V, $mode, B> as Accesses<'s, B>>::held(&(), args) }
            }
        }
    )*};
}

in_chunks! {
    Read, ReadOnly, Deref, Chunks;
    Inout, Full, DerefMut, ChunksMut;
}

#[diagnostic::do_not_recommend]
impl<'t> ArgsOf<'t> for Range<usize> {
    type Leaf = Range<usize>;
    type Held = Range<usize>;
}

// SAFETY: it visits nothing.
#[diagnostic::do_not_recommend]
unsafe impl<'s, B> Accesses<'s, B> for Range<usize> {
    type Shape = Range<usize>;
    const FORM: Form = Form::NONE;
    const REDUCES: bool = false;
    #[inline]
    fn count(&self) -> usize {
        0
    }
    #[inline(always)]
    fn visit(&self, _: &mut impl Visitor) -> Range<usize> {
        self.clone()
    }
    #[inline(always)]
    unsafe fn leaf<'t>(shape: &Range<usize>, _: &mut Args<'t>) -> Range<usize>
    where
        Self: 't,
    {
        shape.clone()
    }
    unsafe fn held<'t>(shape: &Range<usize>, _: &mut Args<'t>) -> Range<usize>
    where
        Self: 't,
    {
        shape.clone()
    }
}

#[diagnostic::do_not_recommend]
impl<'t, X: for<'x> ArgsOf<'x>, Y: for<'x> ArgsOf<'x>> ArgsOf<'t> for Zip<X, Y> {
    type Leaf = Zip<<X as ArgsOf<'t>>::Leaf, <Y as ArgsOf<'t>>::Leaf>;
    type Held = (<X as ArgsOf<'t>>::Held, <Y as ArgsOf<'t>>::Held);
}

// SAFETY: the parts are visited in order, each as its own type.
#[diagnostic::do_not_recommend]
unsafe impl<'s, B, X: Accesses<'s, B>, Y: Accesses<'s, B>> Accesses<'s, B> for Zip<X, Y> {
    type Shape = (X::Shape, Y::Shape);
    const FORM: Form = Form::then(X::FORM, Y::FORM);
    const REDUCES: bool = X::REDUCES || Y::REDUCES;
    #[inline]
    fn count(&self) -> usize {
        self.a.count() + self.b.count()
    }
    #[inline(always)]
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
        (self.a.visit(visitor), self.b.visit(visitor))
    }
    #[inline(always)]
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        let a = unsafe { X::leaf(&shape.0, args) };
        // SAFETY: as the caller promises.
        let b = unsafe { Y::leaf(&shape.1, args) };
        Zip { a, b }
    }
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        let a = unsafe { X::held(&shape.0, args) };
        // SAFETY: as the caller promises.
        let b = unsafe { Y::held(&shape.1, args) };
        (a, b)
    }
}

impl<V, B, R> Handle<V, B, R> {
    /// Declares that a loop reads the datum in chunks of `size` elements. Each is an item, `&[T]`;
    /// the last one may be shorter. The loop is one task: see
    /// [`Spawn::for_each`](crate::Spawn::for_each).
    ///
    /// The datum is a `Vec<T>`, a `Box<[T]>`, a `&mut [T]`, or anything else that dereferences to a
    /// slice. The call takes constant time.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    /// use millpond::{Handle, Runtime, Spawn};
    ///
    /// let (rt, numbers, sum) = (Runtime::new()?, Handle::new(vec![1; 1000]), Handle::new(AtomicU64::new(0)));
    /// rt.scope(|s| {
    ///     s.for_each((numbers.chunks(64), sum.concurrent()), |(chunk, sum)| {
    ///         sum.fetch_add(chunk.iter().sum(), Relaxed);
    ///     });
    /// })?;
    /// assert_eq!(sum.into_inner()?.into_inner(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub fn chunks<T>(&self, size: usize) -> InChunks<Access<'_, V, Read, B>, T>
    where
        V: Deref<Target = [T]> + Send + Sync,
        R: CanRead,
    {
        InChunks { access: self.read(), size: checked(size), _elements: PhantomData }
    }

    /// Declares that a loop changes the datum in chunks of `size` elements. Each is an item,
    /// `&mut [T]`; the last one may be shorter. The rest is as for [`chunks`](Handle::chunks).
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn, each};
    ///
    /// let (rt, rows) = (Runtime::new()?, Handle::new(vec![0; 12]));
    /// rt.scope(|s| {
    ///     s.for_each(each::indexed(rows.chunks_mut(4)), |(i, row)| row.fill(i));
    /// })?;
    /// assert_eq!(rows.into_inner()?, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub fn chunks_mut<T>(&self, size: usize) -> InChunks<Access<'_, V, Inout, B>, T>
    where
        V: DerefMut<Target = [T]> + Send,
        R: CanRead + CanWrite,
    {
        InChunks { access: self.inout(), size: checked(size), _elements: PhantomData }
    }
}
