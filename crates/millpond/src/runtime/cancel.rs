//! Cancellation: cooperative, by scope.

use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Cancels a scope: its tasks that have not started end as [`Kind::Cancelled`](crate::Kind::Cancelled).
///
/// [`Spawn::cancel_on_failure`](crate::Spawn::cancel_on_failure) cancels a scope at its first failure. The drop of a
/// [`Session`](crate::Session) cancels it; [`SessionJoin::cancel`](crate::SessionJoin::cancel) cancels one task of it.
///
/// Bodies that run go on; a long one captures the token and asks [`is_cancelled`](CancelToken::is_cancelled). Order
/// is kept: what finished has its serial value, and every other task is cancelled or reads, directly or not, from a
/// cancelled one.
///
/// ```
/// use millpond::{Handle, Kind, Runtime, Spawn};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let steps = Handle::new(0);
/// let result = rt.scope(|s| {
///     let token = s.cancel_token();
///     s.spawn(steps.inout(), move |n| {
///         *n += 1;
///         token.cancel();
///     });
///     s.spawn(steps.inout(), |n| *n += 1);
/// });
/// assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<Token>);

#[derive(Debug)]
struct Token {
    cancelled: AtomicBool,
    cancels: Cancels,
}

/// How often something was cancelled in one root scope: 0 spares every task the look at its scopes' tokens.
#[derive(Clone, Debug)]
pub(crate) struct Cancels(Arc<AtomicUsize>);

impl Cancels {
    pub(crate) fn new() -> Self {
        Cancels(Arc::new(AtomicUsize::new(0)))
    }

    /// The count.
    pub(crate) fn count(&self) -> &AtomicUsize {
        &self.0
    }

    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

impl CancelToken {
    pub(crate) fn new(cancels: &Cancels) -> Self {
        CancelToken(Arc::new(Token { cancelled: AtomicBool::new(false), cancels: cancels.clone() }))
    }

    /// Cancels the scope, now or never: a second call does nothing.
    ///
    /// Takes constant time from any thread, and wakes nobody: each task finds out when its turn comes. From then on
    /// every task of the same root scope looks, before it starts, at the scopes around it; until then, at one word.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let session = rt.session();
    /// let token = session.cancel_token();
    /// let searched = session.spawn((), {
    ///     let token = token.clone();
    ///     move |()| (0_u64..).take_while(|_| !token.is_cancelled()).count()
    /// });
    /// token.cancel();
    /// // It ended either way: cancelled before its start, or by itself.
    /// let _ = session.wait(searched);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        // In this order: once a body has seen the scope cancelled, each task that starts after that looks.
        self.0.cancels.0.fetch_add(1, Ordering::Release);
        self.0.cancelled.store(true, Ordering::Release);
    }

    /// Whether [`cancel`](CancelToken::cancel) was called, of this scope; a scope around it has a token of its own. One
    /// load, so that a body may ask often.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }
}
