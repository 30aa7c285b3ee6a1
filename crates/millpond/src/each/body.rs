//! What a loop does with its items.

use super::items::Source;

/// Runs batches of items. Each thread of a loop has a *local*, which its batches share.
pub(super) trait Body<S: Source>: Sync {
    type Local<'l>: Send;
    /// What the local of a second thread begins with.
    type Branch<'l>: Send;
    /// What the second thread leaves.
    type Part: Send;

    /// Runs a batch, whose first item has the number `from`.
    fn run(&self, items: S::Iter, from: usize, local: Self::Local<'_>);
    /// Whether the items from a number on need not run. The function determines the number.
    #[inline(always)]
    fn is_done(&self, _from: impl FnOnce() -> usize) -> bool {
        false
    }
    /// Lends a local to a batch, or to a part of the loop.
    fn lend<'a>(local: &'a mut Self::Local<'_>) -> Self::Local<'a>;
    /// Called by the thread that forks a second one. It may panic.
    fn fork<'a>(local: &'a mut Self::Local<'_>) -> (Self::Local<'a>, Self::Branch<'a>);
    /// Called by the second thread, for all that it does.
    fn run_branch<R>(branch: Self::Branch<'_>, work: impl FnOnce(Self::Local<'_>) -> R) -> (R, Self::Part);
    /// Called by the first thread when the second one has ended. It may panic.
    fn absorb(local: &mut Self::Local<'_>, part: Self::Part);
}

/// Calls a function for each item.
pub(super) struct Plain<F>(pub(super) F);

/// Of bodies whose threads keep nothing.
macro_rules! no_local {
    () => {
        type Local<'l> = ();
        type Branch<'l> = ();
        type Part = ();

        #[inline(always)]
        fn lend(_: &mut ()) {}
        #[inline(always)]
        fn fork(_: &mut ()) -> ((), ()) {
            ((), ())
        }
        #[inline(always)]
        fn run_branch<R>(_: (), work: impl FnOnce(()) -> R) -> (R, ()) {
            (work(()), ())
        }
        #[inline(always)]
        fn absorb(_: &mut (), _: ()) {}
    };
}
pub(super) use no_local;

impl<S: Source, F: Fn(S::Item) + Sync> Body<S> for Plain<F> {
    no_local!();

    #[inline(always)]
    fn run(&self, items: S::Iter, _from: usize, (): ()) {
        // Not `&self.0`: the compiler might not inline the call through the reference.
        items.for_each(|item| (self.0)(item));
    }
}
