//! The value of a session's task, as a future.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::Error;
use crate::runtime::join::{Pending, Release};
use crate::worker::current;

/// The value of a session's task: a `Send` future, which may outlive the session.
///
/// Dropping it does nothing to the task; [`cancel`](SessionJoin::cancel) cancels it. It keeps the task's block, and what the
/// session and the runtime share, but not the runtime's threads. Each poll takes constant time; it wakes whoever polled it
/// last, once. Its errors are those of [`Spawn::wait`](crate::Spawn::wait).
///
/// ```
/// use millpond::{Runtime, Spawn};
///
/// let rt = Runtime::new()?;
/// let session = rt.session();
/// let answer = session.spawn((), |()| 42);
/// session.close().wait()?;
/// assert!(answer.is_done());
/// let elsewhere = std::thread::spawn(move || Runtime::new().unwrap().scope(|s| s.block_on(answer)));
/// assert_eq!(elsewhere.join().unwrap()??, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SessionJoin<O> {
    state: State<O>,
}

enum State<O> {
    Spawned(Pending<O, Kept>),
    /// The session was closed before.
    Refused(Error),
    Taken,
}

/// Keeps what a join reaches.
pub(super) type Kept = Arc<dyn Release + Send + Sync>;

// SAFETY: a join is the only one to take the value, which it may do on another thread since it is `Send`; the block's
// state and the scope's watchers are synchronized, and what it keeps is `Send`.
unsafe impl<O: Send> Send for SessionJoin<O> {}
// SAFETY: a shared join only tells whether the task is complete, and cancels it, by an atomic.
unsafe impl<O: Send> Sync for SessionJoin<O> {}

const POLLED_AGAIN: &str = "a join is not polled, and not waited for, after it was ready";

impl<O> SessionJoin<O> {
    pub(super) fn new(pending: Pending<O, Kept>) -> Self {
        SessionJoin { state: State::Spawned(pending) }
    }

    pub(super) fn refused(error: Error) -> Self {
        SessionJoin { state: State::Refused(error) }
    }

    /// What it waits for; or how that has ended, if it was never spawned.
    pub(super) fn into_pending(self) -> Result<Pending<O, Kept>, Error> {
        match self.state {
            State::Spawned(pending) => Ok(pending),
            State::Refused(error) => Err(error),
            State::Taken => panic!("{POLLED_AGAIN}"),
        }
    }

    /// Whether the task is complete, its descendants included. Never waits; once true it stays so.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Spawned(pending) => pending.is_done(),
            State::Refused(_) | State::Taken => true,
        }
    }

    /// Cancels the task. If its body has not begun, the body never runs: the task fails as
    /// [`Kind::Cancelled`](crate::Kind::Cancelled), when its turn comes. So does each descendant that has not begun. What they should
    /// have changed is poisoned, as after [`CancelToken::cancel`](crate::CancelToken::cancel).
    ///
    /// A body that runs goes on, and a task that is complete stays so. The rest of the session goes on, too.
    ///
    /// Takes constant time, on any thread, and never waits. Await the join afterwards to see which it was.
    ///
    /// ```
    /// use millpond::{Kind, Runtime, Spawn};
    /// use std::sync::mpsc::channel;
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let (session, (begun, has_begun), (go, may_go)) = (rt.session(), channel(), channel());
    /// let first = session.spawn((), move |()| {
    ///     begun.send(()).unwrap();
    ///     may_go.recv().unwrap()
    /// });
    /// let second = session.spawn((), |()| unreachable!("the only worker is busy"));
    /// has_begun.recv()?;
    /// second.cancel();
    /// go.send(42)?;
    /// assert_eq!(session.wait(first)?, 42);
    /// assert_eq!(session.wait(second).unwrap_err().kind(), &Kind::Cancelled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self) {
        if let State::Spawned(pending) = &self.state {
            pending.cancel();
        }
    }
}

impl<O> Future for SessionJoin<O> {
    type Output = Result<O, Error>;

    /// # Panics
    ///
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = SessionJoin { state: mem::replace(&mut self.state, State::Taken) };
        let pending = match this.into_pending() {
            Ok(pending) => pending,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if let Some(error) = pending.never() {
            return Poll::Ready(Err(error));
        }
        if pending.is_done() || !pending.wake_when_done(context.waker()) {
            pending.note_joined();
            return Poll::Ready(pending.take());
        }
        self.state = State::Spawned(pending);
        current::step_back();
        Poll::Pending
    }
}

impl<O> Unpin for SessionJoin<O> {}

impl<O> std::fmt::Debug for SessionJoin<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionJoin").field("done", &self.is_done()).finish_non_exhaustive()
    }
}
