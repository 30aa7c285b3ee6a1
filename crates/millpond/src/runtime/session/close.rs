//! The end of a session, as a future.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Session;
use crate::error::Error;
use crate::runtime::engine::{DefaultEngine, Engine};
use crate::worker::current;
use crate::worker::watch::Tell;

/// The end of a session: a future that is ready when all tasks are complete. Made by
/// [`Session::close`].
///
/// Dropping it before it is ready cancels the tasks that have not begun, like dropping the session.
///
/// ```
/// use millpond::{Close, Runtime, Spawn};
///
/// let rt = Runtime::new()?;
/// let session = rt.session();
/// drop(session.spawn((), |()| ()));
/// let end: Close = session.close();
/// end.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "await it, or `wait`: dropping it cancels the tasks that have not begun"]
#[derive(Debug)]
pub struct Close<E: Engine = DefaultEngine> {
    session: Session<E>,
    place: &'static Location<'static>,
}

impl<E: Engine> Close<E> {
    pub(super) fn new(session: Session<E>, place: &'static Location<'static>) -> Self {
        Close { session, place }
    }

    /// Blocks this thread until all tasks are complete. In async code, use `await` instead.
    ///
    /// In a body, a spare thread works in this thread's place, and this thread runs only tasks of
    /// the session.
    ///
    /// ```
    /// use millpond::{Handle, Kind, Runtime, Spawn};
    ///
    /// let (rt, page) = (Runtime::new()?, Handle::<String>::unset());
    /// let session = rt.session();
    /// session.task("fetch").spawn(page.write(), |_unset| ());
    /// assert_eq!(session.close().wait().unwrap_err().kind(), &Kind::Unwritten { arg: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`Session::close`].
    pub fn wait(self) -> Result<(), Error> {
        self.session.core.wait_for_end();
        self.session.core.result(self.place)
    }
}

impl<E: Engine> Future for Close<E> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let core = &self.session.core;
        if core.is_forked() {
            return Poll::Ready(core.result(self.place));
        }
        let (waits, _old) = core.watch_end(Tell::Waker(context.waker().clone()));
        if !waits {
            return Poll::Ready(core.result(self.place));
        }
        // The private tasks of this worker may be the awaited ones.
        current::step_back();
        Poll::Pending
    }
}
