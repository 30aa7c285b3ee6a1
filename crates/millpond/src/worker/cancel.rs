//! Cancellation: cooperative, by scope.

use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Cancels a scope: its tasks that have not started end as
/// [`Kind::Cancelled`](crate::Kind::Cancelled).
///
/// [`Spawn::cancel_on_failure`](crate::Spawn::cancel_on_failure) cancels a scope at its first
/// failure. Dropping a [`Session`](crate::Session) cancels it.
/// [`SessionJoin::cancel`](crate::SessionJoin::cancel) cancels one task of it.
///
/// Running bodies continue. A long body captures the token and checks
/// [`is_cancelled`](CancelToken::is_cancelled). Order is kept: every finished task has its serial
/// value. Each other task is cancelled, or reads, directly or indirectly, from a cancelled one.
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

/// The number of cancellations in one root scope. If it is 0, tasks need not check the tokens of
/// their scopes.
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

    /// Cancels the scope. A second call does nothing.
    ///
    /// Takes constant time on any thread, and wakes no thread: each task checks at its start. After
    /// a cancellation, each task of the same root scope checks all scopes around it before it
    /// starts. Before any, it checks only one word.
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
        // In this order: after a body has seen the scope cancelled, each starting task checks the
        // tokens.
        self.0.cancels.0.fetch_add(1, Ordering::Release);
        self.0.cancelled.store(true, Ordering::Release);
    }

    /// Whether [`cancel`](CancelToken::cancel) was called for this scope. A scope around it has its
    /// own token. One load, so a body may check often.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }
}
