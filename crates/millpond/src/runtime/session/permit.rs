//! Room in the window of a session, for async code: spawns that never wait.

use std::cell::Cell;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::core::Asked;
use super::{Session, SessionJoin};
use crate::error::Error;
use crate::handle::Handle;
use crate::handle::access::{Accesses, ArgsOf, CanRead, CanWrite, In, Root};
use crate::runtime::engine::{DefaultEngine, Engine};
use crate::runtime::outcome::Outcome;
use crate::runtime::scope::Scope;
use crate::runtime::spawn::{Options, Spawn};
use crate::runtime::wait_on::Ref;
use crate::worker::cancel::CancelToken;
use crate::worker::current;
use crate::worker::watch::Tell;

/// Waits for room in a session's window: a future that gives a [`Permit`]. Made by
/// [`Session::reserve`].
///
/// Dropping it cancels the wait.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Reserve<'a, E: Engine = DefaultEngine> {
    session: &'a Session<E>,
    /// Its key in the list of waiters.
    place: Option<u64>,
    /// It has waited.
    full: bool,
}

/// A place in the window of a session. The first spawn through the permit takes that place and does
/// not wait.
///
/// Further spawns are like spawns on the session itself, and wait if the window is full. Dropping
/// an unused permit frees the place for another task.
///
/// An unused permit reduces the room for other tasks. With a window of *n* tasks, a future that
/// holds *n* permits and awaits another one waits forever.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let rt = Runtime::builder().workers(2).window(4).build()?;
/// let (session, count) = (rt.session(), Handle::new(0));
/// let feed = async {
///     for n in 0..100 {
///         // At most four tasks are in flight. While there are four, the executor does other work.
///         let permit = session.reserve().await;
///         permit.task("count").index([n]).spawn(count.inout(), |count| *count += 1);
///     }
///     session.spawn(count.read(), |count| *count).await
/// };
/// assert_eq!(rt.scope(|s| s.block_on(feed))??, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Permit<'a, E: Engine = DefaultEngine> {
    session: &'a Session<E>,
    used: Cell<bool>,
}

impl<'a, E: Engine> Reserve<'a, E> {
    pub(super) fn new(session: &'a Session<E>) -> Self {
        Reserve { session, place: None, full: false }
    }

    fn give_up(&mut self) {
        if let Some(place) = self.place.take()
            && !self.session.core.is_forked()
        {
            // Dropped without a lock: a waker may run any code.
            drop(self.session.core.waits().take_back(place));
        }
    }
}

impl<'a, E: Engine> Future for Reserve<'a, E> {
    type Output = Permit<'a, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit<'a, E>> {
        self.give_up();
        let core = &self.session.core;
        if core.is_forked() {
            return Poll::Ready(Permit { session: self.session, used: Cell::new(true) });
        }
        loop {
            // Before the lock: a waker may run any code.
            let mut waker = Some(context.waker().clone());
            let issuing = core.issue();
            let asked = if issuing.has_room(LEAST_BYTES, self.full) {
                Asked::Room
            } else {
                self.full = true;
                issuing.ask(core, LEAST_BYTES, || Tell::Waker(waker.take().expect("asked once")))
            };
            match asked {
                Asked::Room => {
                    let closed = issuing.is_closed();
                    if !closed {
                        issuing.reserve();
                    }
                    drop(issuing);
                    return Poll::Ready(Permit { session: self.session, used: Cell::new(closed) });
                }
                Asked::Listed { place, sure } => {
                    drop(issuing);
                    self.place = Some(place);
                    if sure {
                        // The private tasks of this worker may be the awaited ones.
                        current::step_back();
                        return Poll::Pending;
                    }
                    self.give_up();
                }
            }
        }
    }
}

/// The least number of bytes: a task that holds any bytes waits while the window of bytes is full.
const LEAST_BYTES: usize = 1;

impl<E: Engine> Drop for Reserve<'_, E> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<E: Engine> Drop for Permit<'_, E> {
    fn drop(&mut self) {
        if !self.used.get() {
            self.session.core.give_back();
        }
    }
}

impl<E: Engine> std::fmt::Debug for Reserve<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reserve").field("waits", &self.place.is_some()).finish_non_exhaustive()
    }
}

impl<E: Engine> std::fmt::Debug for Permit<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit").field("used", &self.used).finish_non_exhaustive()
    }
}

impl<E: Engine> Spawn<'static> for Permit<'_, E> {
    type Brand = Root;
    type Inner<'t> = Scope<'static, 'static, In<'t>, E>;
    type Join<O: Send + 'static> = SessionJoin<O>;

    fn spawn_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 'static,
    {
        self.session.spawn_leaf(&self.used, &options, &accesses, body)
    }

    fn nest_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> R + Send + 'static,
    {
        self.session.spawn_parent(&self.used, &options, &accesses, body)
    }

    #[track_caller]
    fn set<T: Send + 'static, R: CanWrite>(&self, handle: &Handle<T, Root, R>, value: T) {
        self.session.set_at(handle, value, Location::caller());
    }

    #[track_caller]
    fn try_set<T: Send + 'static, R: CanWrite>(&self, handle: &Handle<T, Root, R>, value: T) -> Result<(), T> {
        self.session.core.try_set(handle, value, Location::caller()).map(drop)
    }

    #[track_caller]
    fn wait_on<'h, T: Send + 'static, R: CanRead>(
        &self,
        handle: &'h mut Handle<T, Root, R>,
    ) -> Result<Ref<'h, T, R>, Error> {
        self.session.core.wait_on(handle, Location::caller())
    }

    fn wait<O: Send + 'static>(&self, join: SessionJoin<O>) -> Result<O, Error> {
        self.session.wait(join)
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.session.block_on(future)
    }

    fn cancel_token(&self) -> CancelToken {
        self.session.cancel_token()
    }

    fn cancel_on_failure(&self, cancels: bool) {
        self.session.cancel_on_failure(cancels);
    }
}
