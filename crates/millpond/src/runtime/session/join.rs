//! The value of a session's task, as a future.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::Error;
use crate::runtime::join::{Pending, Release, SessionJoins};
use crate::worker::current;

/// The value of a session's task: a `Send` future, which may outlive the session.
///
/// Dropping it does not affect the task; [`cancel`](SessionJoin::cancel) cancels it. It keeps the
/// task's block and the shared state of the session and the runtime, but not the runtime's threads.
/// A poll takes constant time. The join wakes only the last caller that polled it, once. Its errors
/// are the same as for [`Spawn::wait`](crate::Spawn::wait).
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
    /// The session was closed before the spawn.
    Refused(Error),
    Taken,
}

/// Keeps what a join uses.
pub(super) type Kept = Arc<dyn Release + Send + Sync>;

// SAFETY: only the join takes the value, and may do so on another thread, because the value is
// `Send`. The block's state and the scope's watchers are synchronized, and what the join keeps is
// `Send`.
unsafe impl<O: Send> Send for SessionJoin<O> {}
// SAFETY: a shared join only reads whether the task is complete, and cancels it, by an atomic.
unsafe impl<O: Send> Sync for SessionJoin<O> {}

const POLLED_AGAIN: &str = "a join is not polled, and not waited for, after it was ready";

impl<O> SessionJoin<O> {
    pub(super) fn new(pending: Pending<O, Kept>) -> Self {
        SessionJoin { state: State::Spawned(pending) }
    }

    pub(super) fn refused(error: Error) -> Self {
        SessionJoin { state: State::Refused(error) }
    }

    /// The task that it waits for, or the error if the task was never spawned.
    pub(super) fn into_pending(self) -> Result<Pending<O, Kept>, Error> {
        match self.state {
            State::Spawned(pending) => Ok(pending),
            State::Refused(error) => Err(error),
            State::Taken => panic!("{POLLED_AGAIN}"),
        }
    }

    /// Whether the task is complete, including its descendants. Never waits. Once it is true, it
    /// stays true.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Spawned(pending) => pending.is_done(),
            State::Refused(_) | State::Taken => true,
        }
    }

    /// The values of several tasks, as one future, in the order of the joins. For a thread that may
    /// block, there is [`Spawn::wait_all`](crate::Spawn::wait_all).
    ///
    /// The future waits for all tasks, even after a failure. Its error is the first failure in the
    /// order of the joins that is no [consequence](Error) of another one. If there is no such
    /// failure, it is the first consequence. Await the joins one by one to see each failure.
    ///
    /// The call takes all joins out of the iterator. If the iterator spawns the tasks, it has
    /// spawned all of them before the first one is awaited. The future polls one join at a time, so
    /// all polls together take time proportional to the number of joins and of wake-ups. Dropping
    /// the future drops the joins, and cancels nothing.
    ///
    /// ```
    /// use millpond::{Runtime, SessionJoin, Spawn};
    ///
    /// let rt = Runtime::new()?;
    /// let session = rt.session();
    /// let squares = SessionJoin::all((1..=3).map(|n| session.spawn((), move |()| n * n)));
    /// assert_eq!(session.block_on(squares)?, [1, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn all(joins: impl IntoIterator<Item = Self>) -> SessionJoins<O> {
        SessionJoins::new(joins.into_iter().collect())
    }

    /// Cancels the task. If its body has not begun, the body never runs. When its turn comes, the
    /// task fails as [`Kind::Cancelled`](crate::Kind::Cancelled). So does each descendant that has
    /// not begun. The values to be changed by these tasks are poisoned, as after
    /// [`CancelToken::cancel`](crate::CancelToken::cancel).
    ///
    /// A running body continues, and a complete task stays complete. The rest of the session
    /// continues, too.
    ///
    /// Takes constant time, on any thread, and never waits. To see which case it was, await the
    /// join afterwards.
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
