//! The sources of loops: ranges, slices, chunks of slices, and pairs of these.

use std::iter;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

/// Something that [`for_each`](crate::for_each) can run over.
///
/// | source | an item |
/// |---|---|
/// | `a..b`, of `usize` | `usize` |
/// | `&[T]`, and references to `Vec<T>`, `Box<[T]>`, `[T; N]`, `&mut [T]` | `&T` |
/// | `&mut [T]`, and exclusive references to the same types | `&mut T` |
/// | [`chunks(slice, n)`](super::chunks) | `&[T]` |
/// | [`chunks_mut(slice, n)`](super::chunks_mut) | `&mut [T]` |
/// | [`zip(a, b)`](super::zip) | an item of each |
/// | [`indexed(a)`](super::indexed) | its index, and an item |
/// | `(a, x, y)`, with up to seven values behind the source | an item of `a`, and a copy of each value |
///
/// The values of the last row are references to shared data, or other types that are `Copy`,
/// `Send` and `Sync`.
#[diagnostic::on_unimplemented(
    message = "a loop cannot run over `{Self}`",
    label = "not a source of items",
    note = "items come from a range of `usize`, a slice, `each::chunks`, `each::chunks_mut`, `each::zip` or \
            `each::indexed`; what all items share follows in a tuple: `(items, &shared)`"
)]
pub trait Items {
    /// The argument of the loop's body.
    type Item;
    #[doc(hidden)]
    type Source: Source<Item = Self::Item>;
    #[doc(hidden)]
    fn into_source(self) -> Self::Source;
}

/// Numbered items that threads can divide.
///
/// # Safety
///
/// Threads may call the methods at the same time, as `range` demands, and use the items that they
/// get.
#[doc(hidden)]
pub unsafe trait Source {
    type Item;
    type Iter: Iterator<Item = Self::Item>;
    fn count(&self) -> usize;
    /// The size of an item, to compare loops with the same body.
    fn weight(&self) -> usize {
        1
    }
    /// The items of a range of numbers.
    ///
    /// # Safety
    ///
    /// `from <= to <= count()`. No other call gets one of these numbers.
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter;
}

impl Items for Range<usize> {
    type Item = usize;
    type Source = Range<usize>;
    fn into_source(self) -> Self {
        self
    }
}

// SAFETY: a number is no reference.
unsafe impl Source for Range<usize> {
    type Item = usize;
    type Iter = Range<usize>;
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
    #[inline]
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
        self.start + from..self.start + to
    }
}

impl<'a, T: Sync> Items for &'a [T] {
    type Item = &'a T;
    type Source = &'a [T];
    fn into_source(self) -> Self {
        self
    }
}

// SAFETY: the elements are shared, and `T` is `Sync`.
unsafe impl<'a, T: Sync> Source for &'a [T] {
    type Item = &'a T;
    type Iter = slice::Iter<'a, T>;
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }
    #[inline]
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
        // SAFETY: the range is within the slice.
        unsafe { self.get_unchecked(from..to) }.iter()
    }
}

/// An exclusively borrowed slice, as a pointer: several threads have parts of it.
#[doc(hidden)]
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    first: NonNull<T>,
    length: usize,
    _borrows: PhantomData<&'a mut [T]>,
}

impl<'a, T> SliceMut<'a, T> {
    fn new(slice: &'a mut [T]) -> Self {
        let length = slice.len();
        SliceMut { first: NonNull::from(slice).cast(), length, _borrows: PhantomData }
    }

    /// # Safety
    ///
    /// `from <= to <= length`. No other call gets one of these elements.
    #[inline]
    unsafe fn part(&self, from: usize, to: usize) -> &'a mut [T] {
        // SAFETY: the element, or the end, is within the slice.
        let first = unsafe { self.first.add(from) };
        // SAFETY: the slice is borrowed for `'a`, and only this call has these elements.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), to - from) }
    }
}

impl<'a, T: Send> Items for &'a mut [T] {
    type Item = &'a mut T;
    type Source = SliceMut<'a, T>;
    fn into_source(self) -> Self::Source {
        SliceMut::new(self)
    }
}

// SAFETY: each element is lent once, and `T` is `Send`.
unsafe impl<'a, T: Send> Source for SliceMut<'a, T> {
    type Item = &'a mut T;
    type Iter = slice::IterMut<'a, T>;
    #[inline]
    fn count(&self) -> usize {
        self.length
    }
    #[inline]
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
        // SAFETY: passed on.
        unsafe { self.part(from, to) }.iter_mut()
    }
}

macro_rules! as_slices {
    ($([$($lifetime:tt)*] [$($length:tt)*] $type:ty;)*) => {$(
        impl<'a, $($lifetime)* T: Sync, $($length)*> Items for &'a $type {
            type Item = &'a T;
            type Source = &'a [T];
            fn into_source(self) -> Self::Source {
                self
            }
        }

        impl<'a, $($lifetime)* T: Send, $($length)*> Items for &'a mut $type {
            type Item = &'a mut T;
            type Source = SliceMut<'a, T>;
            fn into_source(self) -> Self::Source {
                SliceMut::new(self)
            }
        }
    )*};
}

as_slices! {
    [] [] Vec<T>;
    [] [] Box<[T]>;
    [] [const N: usize] [T; N];
    ['b,] [] &'b mut [T];
}

/// Consecutive chunks of a slice. Made by [`chunks`](super::chunks).
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

/// Consecutive chunks of an exclusively borrowed slice. Made by [`chunks_mut`](super::chunks_mut).
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    slice: SliceMut<'a, T>,
    size: usize,
}

/// Checks the size of a chunk.
#[track_caller]
pub(super) fn checked(size: usize) -> usize {
    assert!(size != 0, "chunk size must be non-zero");
    size
}

/// The elements from chunk `from` up to chunk `to`.
#[inline]
fn elements(length: usize, size: usize, from: usize, to: usize) -> Range<usize> {
    // The last chunk may be shorter, and its end beyond the largest number.
    from * size..to.saturating_mul(size).min(length)
}

impl<'a, T> Chunks<'a, T> {
    #[track_caller]
    pub(super) fn new(slice: &'a [T], size: usize) -> Self {
        Chunks { slice, size: checked(size) }
    }
}

impl<'a, T> ChunksMut<'a, T> {
    #[track_caller]
    pub(super) fn new(slice: &'a mut [T], size: usize) -> Self {
        ChunksMut { size: checked(size), slice: SliceMut::new(slice) }
    }
}

impl<'a, T: Sync> Items for Chunks<'a, T> {
    type Item = &'a [T];
    type Source = Self;
    fn into_source(self) -> Self {
        self
    }
}

// SAFETY: the elements are shared, and `T` is `Sync`.
unsafe impl<'a, T: Sync> Source for Chunks<'a, T> {
    type Item = &'a [T];
    type Iter = slice::Chunks<'a, T>;
    #[inline]
    fn count(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }
    #[inline]
    fn weight(&self) -> usize {
        self.size.min(self.slice.len())
    }
    #[inline]
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
        let elements = elements(self.slice.len(), self.size, from, to);
        // SAFETY: the chunks are within the slice.
        unsafe { self.slice.get_unchecked(elements) }.chunks(self.size)
    }
}

impl<'a, T: Send> Items for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type Source = Self;
    fn into_source(self) -> Self {
        self
    }
}

// SAFETY: each chunk is lent once, and `T` is `Send`.
unsafe impl<'a, T: Send> Source for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type Iter = slice::ChunksMut<'a, T>;
    #[inline]
    fn count(&self) -> usize {
        self.slice.length.div_ceil(self.size)
    }
    #[inline]
    fn weight(&self) -> usize {
        self.size.min(self.slice.length)
    }
    #[inline]
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
        let elements = elements(self.slice.length, self.size, from, to);
        // SAFETY: the chunks are within the slice, and different chunks have different elements.
        unsafe { self.slice.part(elements.start, elements.end) }.chunks_mut(self.size)
    }
}

/// Two sources in parallel. Made by [`zip`](super::zip) and [`indexed`](super::indexed).
#[derive(Clone, Copy, Debug)]
pub struct Zip<A, B> {
    pub(super) a: A,
    pub(super) b: B,
}

impl<A: Items, B: Items> Items for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Source = Zip<A::Source, B::Source>;
    fn into_source(self) -> Self::Source {
        Zip { a: self.a.into_source(), b: self.b.into_source() }
    }
}

// SAFETY: as for the two sources.
unsafe impl<A: Source, B: Source> Source for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Iter = iter::Zip<A::Iter, B::Iter>;
    #[inline]
    fn count(&self) -> usize {
        self.a.count().min(self.b.count())
    }
    #[inline]
    fn weight(&self) -> usize {
        self.a.weight().max(self.b.weight())
    }
    #[inline]
    unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
        // SAFETY: passed on. The source has at least `count` items.
        let a = unsafe { self.a.range(from, to) };
        // SAFETY: as above.
        let b = unsafe { self.b.range(from, to) };
        a.zip(b)
    }
}

/// A value of which each item of a loop gets a copy: a reference to shared data, for example.
#[diagnostic::on_unimplemented(
    message = "all items of a loop get `{Self}`, so it must be shared",
    label = "each item would need it alone",
    note = "behind the items, declare `h.read()` or `h.concurrent()`; to change a second datum item by item, \
            put both together by `each::zip`; to add to a datum, call `Acc::for_each` in a leaf that accumulates"
)]
pub trait Shared: Copy + Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: Copy + Send + Sync> Shared for T {}

/// A source, and the values shared by all its items.
#[doc(hidden)]
#[derive(Debug)]
pub struct With<S, A> {
    source: S,
    shared: A,
}

macro_rules! with_shared {
    ($($a:ident $i:tt)*) => {
        impl<I: Items, $($a: Shared),*> Items for (I, $($a,)*) {
            type Item = (I::Item, $($a,)*);
            type Source = With<I::Source, ($($a,)*)>;
            #[allow(non_snake_case, reason = "named as its type")]
            fn into_source(self) -> Self::Source {
                let (items, $($a,)*) = self;
                With { source: items.into_source(), shared: ($($a,)*) }
            }
        }

        // SAFETY: as for the source. The shared values are copied, and are `Send` and `Sync`.
        unsafe impl<S: Source, $($a: Shared),*> Source for With<S, ($($a,)*)> {
            type Item = (S::Item, $($a,)*);
            type Iter = With<S::Iter, ($($a,)*)>;
            #[inline]
            fn count(&self) -> usize {
                self.source.count()
            }
            #[inline]
            fn weight(&self) -> usize {
                self.source.weight()
            }
            #[inline]
            unsafe fn range(&self, from: usize, to: usize) -> Self::Iter {
                // SAFETY: passed on.
                With { source: unsafe { self.source.range(from, to) }, shared: self.shared }
            }
        }

        impl<I: Iterator, $($a: Copy),*> Iterator for With<I, ($($a,)*)> {
            type Item = (I::Item, $($a,)*);
            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.source.next().map(|item| (item, $(self.shared.$i,)*))
            }
            // A loop over the items is as tight as one over the source.
            #[inline]
            fn fold<Sum, Add: FnMut(Sum, Self::Item) -> Sum>(self, start: Sum, mut add: Add) -> Sum {
                let shared = self.shared;
                self.source.fold(start, |sum, item| add(sum, (item, $(shared.$i,)*)))
            }
        }
    };
}

with_shared! { A 0 }
with_shared! { A 0 B 1 }
with_shared! { A 0 B 1 C 2 }
with_shared! { A 0 B 1 C 2 D 3 }
with_shared! { A 0 B 1 C 2 D 3 E 4 }
with_shared! { A 0 B 1 C 2 D 3 E 4 F 5 }
with_shared! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 }
