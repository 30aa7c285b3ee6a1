//! Bodies that add from several threads: the halves of a join, and the items of a loop.
//!
//! A body has its copy alone. So a second thread of the body needs another one, a *branch*:
//!
//! * If tasks share copies, the thread takes one of these when it begins. The combine task combines
//!   it with the others. So the first thread does nothing for a branch.
//! * Otherwise the branch is a part of its own, which starts as the identity. The first thread
//!   makes it before the fork, because it has a value that shows the shape. It combines the part
//!   into its own copy when both threads have ended.
//!
//! # Handover
//!
//! The second half of a join needs no branch if it begins after the first one has ended: it uses
//! the same copy.
//!
//! 1. The first half uses the copy. When it has ended, it passes the copy on by a release store. If
//!    it panics, it does not.
//! 2. The second half looks once, before its body, by an acquire load. If the copy was passed on,
//!    this half has it from then on. Otherwise it uses its branch.
//! 3. The caller uses the copy when both halves have ended.
//!
//! So the copy has one user at a time, and the second half sees what the first one added. Under
//! [`deterministic`](crate::Builder::deterministic), the second half uses its branch in any case.
//! Then the operands of each combination depend only on the program.

use std::panic::Location;
use std::ptr::NonNull;

use super::{Acc, Home};
use crate::handle::reduction::{Reducer, Reduction};
use crate::panics::catch;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::worker::fork;
use crate::worker::forks::CallSite;

#[cfg(all(test, loom))]
mod loom_tests;

/// Whether the first half of a join has passed its copy on (see the [module](self)).
#[derive(Debug, Default)]
struct Handover(AtomicBool);

impl Handover {
    /// Step 1.
    #[inline(always)]
    fn pass(&self) {
        self.0.store(true, Release);
    }

    /// Step 2.
    #[inline(always)]
    fn was_passed(&self) -> bool {
        self.0.load(Acquire)
    }
}

/// What a second thread of a body begins with.
pub(crate) struct Branch<'t, T, O> {
    start: Start<'t, T>,
    reducer: O,
}

enum Start<'t, T> {
    Copies(&'t Reduction),
    Part(Part<T>, Home<'t>),
}

// SAFETY: all threads may use a reduction. A part has no path: its home is `Own`.
unsafe impl<T: Send, O: Send> Send for Branch<'_, T, O> {}

/// A partial result of one thread. It drops its value inside a catch, because that happens only
/// after a failure.
pub(crate) struct Part<T>(Option<T>);

impl<T> Part<T> {
    fn into_value(mut self) -> T {
        self.0.take().expect("there until the drop")
    }
}

impl<T> Drop for Part<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take() else { return };
        let _has_failed_already = catch(|| drop(value));
    }
}

impl<'t> Home<'t> {
    /// The home of what an `Acc` with this home lends.
    fn lent(self) -> Home<'t> {
        match self {
            Home::Own { .. } => self,
            Home::Path(_) => Home::Own { ordered: true },
            Home::Lent(reduction) | Home::Copies(reduction) | Home::Issuer(reduction) => Home::Lent(reduction),
        }
    }
}

impl<'t, T, O: Reducer<T>> Branch<'t, T, O> {
    /// Calls the body of the second thread. Returns what the first one must
    /// [`absorb`](Acc::absorb).
    pub(crate) fn run<R>(self, body: impl FnOnce(Acc<'_, T, O>) -> R) -> (R, Option<Part<T>>) {
        match self.start {
            Start::Copies(reduction) => (body(Acc::of_copies(reduction, self.reducer)), None),
            Start::Part(mut part, home) => {
                let value = NonNull::from(part.0.as_mut().expect("there until the drop"));
                let result = body(Acc::new(value.cast(), home, self.reducer));
                (result, Some(part))
            }
        }
    }

    /// Gives the branch up before a thread has used it.
    fn cancel(self) {
        if let Start::Part(part, _) = self.start {
            drop(part.into_value());
        }
    }
}

impl<'t, T, O: Reducer<T>> Acc<'t, T, O> {
    /// Whether the order of combinations is fixed.
    pub(crate) fn is_ordered(&self) -> bool {
        matches!(self.home, Home::Path(_) | Home::Own { ordered: true })
    }

    /// Lends the copy.
    #[inline]
    pub(crate) fn lend(&mut self) -> Acc<'_, T, O> {
        self.again()
    }

    /// The same copy again. The caller has `self` borrowed, and uses one of the results at a time.
    #[inline(always)]
    fn again(&self) -> Acc<'t, T, O> {
        Acc::new(self.copy.cast(), self.home.lent(), self.reducer)
    }

    /// Lends the copy to the first of two threads, and returns what the second one begins with.
    /// Panics if the reducer does.
    #[inline]
    pub(crate) fn fork(&mut self) -> (Acc<'_, T, O>, Branch<'_, T, O>) {
        let (home, reducer) = (self.home.lent(), self.reducer);
        let start = match home {
            Home::Lent(reduction) => Start::Copies(reduction),
            _ => Start::Part(Part(Some(reducer.identity(self.partial()))), home),
        };
        (self.again(), Branch { start, reducer })
    }

    /// Combines what a branch has left. Panics if the reducer does.
    #[inline]
    pub(crate) fn absorb(&mut self, part: Option<Part<T>>) {
        if let Some(part) = part {
            self.add(part.into_value());
        }
    }

    /// Like [`join`](Acc::join), for a call at `place`.
    #[inline(always)]
    pub(crate) fn join_at<A, B, RA, RB>(&mut self, a: A, b: B, place: CallSite) -> (RA, RB)
    where
        T: Send,
        A: FnOnce(&mut Acc<'_, T, O>) -> RA + Send,
        B: FnOnce(&mut Acc<'_, T, O>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let (shares, handover) = (!self.is_ordered(), &Handover::default());
        let second = self.again();
        let (first, branch) = self.fork();
        let left = move || {
            let mut first = first;
            let result = a(&mut first);
            drop(first);
            handover.pass();
            result
        };
        let right = move || {
            let mut second = second;
            if shares && handover.was_passed() {
                branch.cancel();
                return (b(&mut second), None);
            }
            branch.run(|mut acc| b(&mut acc))
        };
        let (left, (right, part)) = fork::join_at(left, right, place);
        self.absorb(part);
        (left, right)
    }

    /// Runs both closures, in parallel if another worker is free, and returns both results, like
    /// [`join`](crate::join). Both can add.
    ///
    /// ```
    /// use millpond::{Acc, Handle, Runtime, Spawn, Sum};
    ///
    /// /// Counts the ways to write `n` as a sum of 1 and 2, in any order.
    /// fn count(n: u32, ways: &mut Acc<'_, u64, Sum>) {
    ///     match n {
    ///         0 | 1 => ways.add(1),
    ///         _ => _ = ways.join(|ways| count(n - 1, ways), |ways| count(n - 2, ways)),
    ///     }
    /// }
    ///
    /// let (rt, ways) = (Runtime::new()?, Handle::new(0));
    /// rt.scope(|s| {
    ///     s.spawn(ways.accumulate(Sum), |mut ways| count(10, &mut ways));
    /// })?;
    /// assert_eq!(ways.into_inner()?, 89);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// If no other worker takes `b`, both closures add to the same copy, and the call costs a few
    /// nanoseconds more than a [`join`](crate::join). Otherwise `b` adds to another copy. If tasks
    /// share no copies, because the leaf runs at its spawn, the runtime makes an identity for `b`
    /// before it calls `a`.
    ///
    /// Under [`deterministic`](crate::Builder::deterministic), `b` always adds to a copy of its
    /// own, which starts as the identity. The runtime combines it after both closures have ended.
    /// So the result is bitwise the same in every run. Each call costs one identity and one
    /// combination.
    ///
    /// The body of a parent calls it on [`Accumulator::acc`](crate::Accumulator::acc).
    ///
    /// # Panics
    ///
    /// If a closure or the reducer panics. It is passed on as by [`join`](crate::join).
    // Not inlined, for the same reason as the function.
    #[inline(never)]
    #[track_caller]
    pub fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        T: Send,
        A: FnOnce(&mut Acc<'_, T, O>) -> RA + Send,
        B: FnOnce(&mut Acc<'_, T, O>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.join_at(a, b, Location::caller())
    }
}
