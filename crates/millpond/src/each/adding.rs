//! Loops that add to a datum.

use std::marker::PhantomData;
use std::mem;
use std::ops::Range;
use std::panic::Location;

use super::Each;
use super::body::Body;
use super::items::{Items, Source};
use super::share::StopOnPanic;
use crate::handle::access::{Acc, Branch, Part};
use crate::handle::reduction::Reducer;

/// If the order of combinations is fixed, a loop has at most this many copies.
const MAX_ORDERED_COPIES: usize = 256;

/// Calls a function for each item, with the `Acc` of its thread.
struct Adding<T, O, F> {
    body: F,
    _of: PhantomData<fn(T) -> O>,
}

impl<S, T, O, F> Body<S> for Adding<T, O, F>
where
    S: Source,
    T: Send,
    O: Reducer<T>,
    F: Fn(S::Item, &mut Acc<'_, T, O>) + Sync,
{
    type Local<'l> = Acc<'l, T, O>;
    type Branch<'l> = Branch<'l, T, O>;
    type Part = Option<Part<T>>;

    #[inline(always)]
    fn run(&self, items: S::Iter, _from: usize, mut local: Acc<'_, T, O>) {
        items.for_each(|item| (self.body)(item, &mut local));
    }

    fn lend<'a>(local: &'a mut Acc<'_, T, O>) -> Acc<'a, T, O> {
        local.lend()
    }

    fn fork<'a>(local: &'a mut Acc<'_, T, O>) -> (Acc<'a, T, O>, Branch<'a, T, O>) {
        local.fork()
    }

    fn run_branch<R>(branch: Branch<'_, T, O>, work: impl FnOnce(Acc<'_, T, O>) -> R) -> (R, Option<Part<T>>) {
        branch.run(work)
    }

    fn absorb(local: &mut Acc<'_, T, O>, part: Option<Part<T>>) {
        local.absorb(part);
    }
}

impl<T: Send, O: Reducer<T>> Acc<'_, T, O> {
    /// Runs `body` for each item, in parallel if that is worth it, like
    /// [`for_each`](crate::for_each). Each call can add.
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn, Sum};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (numbers, total) = (Handle::new((1..=100_000).collect::<Vec<u64>>()), Handle::new(0));
    /// rt.scope(|s| {
    ///     s.spawn((numbers.read(), total.accumulate(Sum)), |(numbers, mut total)| {
    ///         total.for_each(numbers, |n, total| total.add(*n));
    ///     });
    /// })?;
    /// assert_eq!(total.into_inner()?, 5_000_050_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Each thread that takes part has a copy of its own, so an addition takes no lock. The copies
    /// are those that tasks share. If there are none, because the leaf runs at its spawn, the
    /// runtime makes an identity for each further thread, and combines it at the end.
    ///
    /// An addition is a load and a store. For items of a nanosecond, let a body add once per chunk:
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn, Sum};
    /// # let rt = Runtime::builder().workers(2).build()?;
    /// # let (numbers, total) = (Handle::new(vec![1_u64; 100_000]), Handle::new(0));
    /// rt.scope(|s| {
    ///     s.spawn((numbers.chunks(1000), total.accumulate(Sum)), |(chunks, mut total)| {
    ///         total.for_each(chunks, |chunk, total| total.add(chunk.iter().sum()));
    ///     });
    /// })?;
    /// assert_eq!(total.into_inner()?, 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The body of a parent calls it on [`Accumulator::acc`](crate::Accumulator::acc).
    ///
    /// Under [`deterministic`](crate::Builder::deterministic), the number of items alone decides
    /// how they are divided, into at most 256 groups. The runtime combines neighbouring groups. A
    /// group starts with the identity. So the result is bitwise the same in every run, with any
    /// number of workers.
    ///
    /// # Panics
    ///
    /// If `body` or the reducer panics. It is passed on as by [`for_each`](crate::for_each).
    #[track_caller]
    pub fn for_each<I, F>(&mut self, items: I, body: F)
    where
        I: Items,
        F: Fn(I::Item, &mut Acc<'_, T, O>) + Sync,
    {
        let each = Each::new(items.into_source(), Adding { body, _of: PhantomData }, Location::caller());
        if self.is_ordered() {
            let count = each.source.count();
            in_order(&each, 0..count, count.div_ceil(MAX_ORDERED_COPIES), self);
        } else {
            each.run_all(self.lend());
        }
    }
}

/// Divides a range until at most `size` items are left. No other call has one of its items.
fn in_order<S, T, O, F>(each: &Each<S, Adding<T, O, F>>, range: Range<usize>, size: usize, acc: &mut Acc<'_, T, O>)
where
    S: Source,
    T: Send,
    O: Reducer<T>,
    F: Fn(S::Item, &mut Acc<'_, T, O>) + Sync,
{
    if each.is_stopped() {
        return;
    }
    if range.len() <= size {
        let guard = StopOnPanic(&each.is_stopped);
        // SAFETY: the range is a part of all items, and only this call has it.
        unsafe { each.batch(range, acc.lend()) };
        return mem::forget(guard);
    }
    let middle = range.start + range.len() / 2;
    acc.join_at(
        |acc| in_order(each, range.start..middle, size, acc),
        |acc| in_order(each, middle..range.end, size, acc),
        each.place,
    );
}
