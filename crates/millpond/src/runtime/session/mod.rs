//! Sessions: scopes without borrows, for async code and for the caller's own threads.
//!
//! `core` has the protocols.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::thread;

use super::Inner;
use super::join::{Pending, Spawned};
use super::outcome::Outcome;
use super::scope::Scope;
use super::spawn::{Options, Spawn};
use super::wait_on::Ref;
use crate::error::Error;
use crate::handle::Handle;
use crate::handle::access::{Accesses, ArgsOf, CanRead, CanWrite, In, Root};
use crate::panics::catch;
use crate::pool::{Leave, Put};
use crate::runtime::engine::{DefaultEngine, Engine};
use crate::runtime::external::waker::{BodyWaker, poll_until_ready};
use crate::runtime::spawn::body::{Body, Code, ParentCode, payload, write_body};
use crate::runtime::spawn::issue::{ByScheme, Plan, free_retired};
use crate::task::{VTable, flag};
use crate::worker::cancel::CancelToken;
use crate::worker::current::{worker_of, worker_within};
use crate::worker::{Awaited, Worker};

mod close;
mod core;
mod join;
mod open;
mod permit;

pub use self::close::Close;
pub(super) use self::core::Core;
use self::core::How;
use self::join::Kept;
pub use self::join::SessionJoin;
pub(super) use self::open::OpenSessions;
pub use self::permit::{Permit, Reserve};

/// A scope that borrows nothing: its tasks are `'static`, and its joins are `Send` futures.
///
/// The tasks run on the runtime's workers. Any thread can spawn. To share a session, put it into an
/// [`Arc`] or lend it to scoped threads. Spawns from several threads happen one after the other,
/// and this order is the reference order.
///
/// # The end of a session
///
/// | | tasks not yet begun | running bodies | what waits |
/// |---|---|---|---|
/// | drop the session | are cancelled | continue | nothing |
/// | [`detach`](Session::detach) | run | continue | nothing |
/// | `close().await` ([`Session::close`]) | run | continue | the future |
/// | `close().wait()` ([`Close::wait`]) | run | continue | this thread |
/// | drop the runtime | are cancelled | continue | this thread, until the bodies have finished |
///
/// So a future that owns a session can be dropped at any time, for instance by a timeout: its tasks
/// are cancelled, and the executor's thread is not blocked. Dropping a join never cancels;
/// [`SessionJoin::cancel`] does. The runtime cannot stop a running body. Give a long body the
/// session's [`cancel_token`](Spawn::cancel_token), and let it check the token.
///
/// Dropping the runtime ends all its sessions, detached ones included, and blocks the thread. In
/// async code, keep the runtime outside of the executor, or drop it where blocking is acceptable.
///
/// After the runtime was dropped, a spawn on one of its sessions does nothing, and its join fails
/// as [`Kind::Cancelled`](crate::Kind::Cancelled). The session's [`close`](Session::close) then
/// returns [`Kind::Cancelled`](crate::Kind::Cancelled), too. It may also do so if its last task has
/// just completed. A body that drops its own runtime does not wait.
///
/// # Waiting
///
/// If the window is full, a [`spawn`](Spawn::spawn) blocks its thread until there is room. Async
/// code awaits [`reserve`](Session::reserve) first. In a task of the same runtime, a spawn lets
/// other tasks run and, if that makes no room, exceeds the limit. So do not hold a lock that these
/// tasks need during a spawn.
///
/// [`set`](Spawn::set), [`wait`](Spawn::wait), [`wait_on`](Spawn::wait_on) and
/// [`block_on`](Spawn::block_on) block, too. Async code uses [`try_set`](Spawn::try_set) and awaits
/// joins.
///
/// A task that waits does not occupy its worker: another thread works in its place, or the body is
/// suspended. But a task must not wait for its own session's end, nor for anything else that needs
/// the task to finish first.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// async fn answer(rt: &Runtime) -> Result<u64, millpond::Error> {
///     let session = rt.session();
///     let numbers = Handle::new(vec![1, 2, 3]);
///     session.spawn(numbers.inout(), |numbers| numbers.push(36));
///     session.spawn(numbers.read(), |numbers| numbers.iter().sum()).await
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// assert_eq!(rt.scope(|s| s.block_on(answer(&rt)))??, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Several tasks of an executor share one:
///
/// ```
/// use std::sync::Arc;
/// use millpond::{Handle, Runtime, Session, Spawn};
///
/// async fn request(session: Arc<Session>, hits: Arc<Handle<u64>>) -> Result<u64, millpond::Error> {
///     session.spawn(hits.inout(), |hits| {
///         *hits += 1;
///         *hits
///     }).await
/// }
///
/// let rt = Runtime::new()?;
/// let (session, hits) = (Arc::new(rt.session()), Arc::new(Handle::new(0)));
/// let (one, other) = (request(session.clone(), hits.clone()), request(session, hits));
/// let threads = [std::thread::spawn(|| Runtime::new().unwrap().scope(|s| s.block_on(one))),
///     std::thread::spawn(|| Runtime::new().unwrap().scope(|s| s.block_on(other)))];
/// let sum: u64 = threads.map(|thread| thread.join().unwrap().unwrap().unwrap()).iter().sum();
/// assert_eq!(sum, 1 + 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session<E: Engine = DefaultEngine> {
    core: Arc<Core<E>>,
}

impl<E: Engine> Session<E> {
    pub(crate) fn open(inner: Arc<Inner<E>>, place: &'static Location<'static>) -> Self {
        Session { core: Core::open(inner, place) }
    }

    /// Closes the session: no further task can be spawned. The returned future is ready when all
    /// tasks are complete. To block the thread instead, call [`Close::wait`].
    ///
    /// If the future is dropped before it is ready, the tasks that have not begun are cancelled.
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn};
    ///
    /// async fn all(rt: &Runtime) -> Result<(), millpond::Error> {
    ///     let session = rt.session();
    ///     for n in ["1", "2", "three"] {
    ///         session.task("parse").try_spawn((), move |()| n.parse::<u32>());
    ///     }
    ///     session.close().await
    /// }
    ///
    /// let rt = Runtime::new()?;
    /// let error = rt.scope(|s| s.block_on(all(&rt)))?.unwrap_err();
    /// assert_eq!(error.to_string(), "task `parse` failed: invalid digit found in string");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first failure in reference order; a [cause](Error) if there is one.
    /// [`Kind::Cancelled`](crate::Kind::Cancelled) if the session was cancelled.
    #[track_caller]
    pub fn close(self) -> Close<E> {
        self.core.close(How::Awaited);
        Close::new(self, Location::caller())
    }

    /// Drops the session, but lets all its tasks run. Never waits. Only the joins report failures.
    ///
    /// The drop of the runtime cancels tasks that have not begun by then, and waits for the others.
    ///
    /// ```
    /// use millpond::{Runtime, Spawn};
    /// use std::sync::mpsc::channel;
    ///
    /// let (rt, (send, receive)) = (Runtime::new()?, channel());
    /// let session = rt.session();
    /// session.spawn((), move |()| send.send(42).unwrap());
    /// session.detach();
    /// assert_eq!(receive.recv()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(self) {
        self.core.close(How::Detached);
    }

    /// Reserves room in the window: the next spawn through the [`Permit`] does not wait. Use it in
    /// async code, where [`spawn`](Spawn::spawn) would block the executor's thread. See [`Permit`]
    /// for an example.
    ///
    /// Takes constant time if there is room, which means both:
    ///
    /// - Fewer tasks are in flight, permits included, than
    ///   [`Builder::window`](crate::Builder::window).
    /// - These tasks hold fewer bytes than [`Builder::window_bytes`](crate::Builder::window_bytes).
    ///
    /// After the window was full, the waiting futures are woken when a quarter of it is free. The
    /// bytes of a task with a permit may exceed the limit.
    ///
    /// Unlike for a spawn, the limit is hard in a body as well. A body that waits for room in its
    /// own session may wait for its own end.
    pub fn reserve(&self) -> Reserve<'_, E> {
        Reserve::new(self)
    }

    fn spawn_leaf<A, F, O, R>(&self, used: &Cell<bool>, options: &Options, accesses: &A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 'static,
    {
        self.send(used, options, accesses, body, Code::<'static, Root, A, F, O, R>::LEAF)
    }

    fn spawn_parent<A, F, O, R>(&self, used: &Cell<bool>, options: &Options, accesses: &A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'static, 'static, In<'t>, E>, <A as ArgsOf<'t>>::Held) -> R + Send + 'static,
    {
        self.send(used, options, accesses, body, ParentCode::<'static, 'static, E, Root, A, F, O, R>::NEST)
    }

    /// Spawns on the workers: a session's own thread runs no bodies. Uses the permit unless it is
    /// `used`, and then sets `used`.
    fn send<A, F, O>(
        &self,
        used: &Cell<bool>,
        options: &Options,
        accesses: &A,
        body: F,
        kind: &'static VTable,
    ) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
    {
        let (core, scope_state) = (&self.core, &self.core.scope_state);
        let refuse = |error, body| {
            // Dropping the closure's captures may panic; the task has failed already.
            let _ = catch(|| drop(body));
            SessionJoin::refused(error)
        };
        if let Err(error) = core.refuse_forked(|| options.label()) {
            return refuse(error, body);
        }
        let permitted = !used.get();
        let issuing = if permitted { core.issue() } else { core.issue_with_room(options.bytes) };
        if issuing.is_closed() {
            let error = issuing.refuse(options.label());
            drop(issuing);
            return refuse(error, body);
        }
        let (pending, retired) = core.as_worker(|worker| {
            let payload = payload::<A::Shape, F, O>();
            let plan = Plan { scope_state, options, vtable: kind, payload, may_run: false };
            let prepared = worker.prepare(ByScheme, plan, accesses);
            if permitted {
                issuing.use_permit();
                used.set(true);
            }
            let body = Body { shape: prepared.shape, f: body };
            // SAFETY: prepared with the payload of these types.
            unsafe { write_body::<A::Shape, F>(prepared.room, body) };
            prepared.task.add_flags(flag::COUNTED);
            let release: Kept = Arc::<Core<E>>::clone(core);
            let pending = Pending::new::<A::Shape, F>(Spawned::new(prepared.task, true), release);
            worker.issue(prepared.task, Put::Spawned);
            // Another thread may wait for the task, and the body that spawns it here may wait for
            // that thread.
            worker.leave_tasks(Leave::Seat);
            (pending, worker.take_retired(prepared.retired_before))
        });
        drop(issuing);
        free_retired(retired, scope_state, options);
        SessionJoin::new(pending)
    }

    fn set_at<T: Send + 'static, R: CanWrite>(
        &self,
        handle: &Handle<T, Root, R>,
        value: T,
        place: &'static Location<'static>,
    ) {
        if self.core.is_forked() {
            return;
        }
        match self.core.try_set(handle, value, place) {
            Ok(replaced) => drop(replaced),
            // Another thread may spawn on the handle meanwhile, so a task takes this write's turn.
            // (If the session is closed, that task is refused.)
            Err(value) => {
                let written = self.spawn_with(Options::at(place), handle.write(), move |out| out.set(value));
                // If the write fails, the session fails with it.
                drop(self.wait(written));
            }
        }
    }
}

impl<E: Engine> Drop for Session<E> {
    fn drop(&mut self) {
        self.core.close(How::Dropped);
    }
}

impl<E: Engine> Spawn<'static> for Session<E> {
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
        self.spawn_leaf(&Cell::new(true), &options, &accesses, body)
    }

    fn nest_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> R + Send + 'static,
    {
        self.spawn_parent(&Cell::new(true), &options, &accesses, body)
    }

    #[track_caller]
    fn set<T: Send + 'static, R: CanWrite>(&self, handle: &Handle<T, Root, R>, value: T) {
        self.set_at(handle, value, Location::caller());
    }

    #[track_caller]
    fn try_set<T: Send + 'static, R: CanWrite>(&self, handle: &Handle<T, Root, R>, value: T) -> Result<(), T> {
        self.core.try_set(handle, value, Location::caller()).map(drop)
    }

    #[track_caller]
    fn wait_on<'h, T: Send + 'static, R: CanRead>(
        &self,
        handle: &'h mut Handle<T, Root, R>,
    ) -> Result<Ref<'h, T, R>, Error> {
        self.core.wait_on(handle, Location::caller())
    }

    fn wait<O: Send + 'static>(&self, join: SessionJoin<O>) -> Result<O, Error> {
        let pending = join.into_pending()?;
        if let Some(error) = pending.never() {
            return Err(error);
        }
        let worker = worker_of(&self.core.shared);
        if let Some(kind) = worker.filter(|_| !pending.is_done()).and_then(Worker::refuses_wait) {
            return Err(Error::new(pending.label(), kind));
        }
        match worker {
            Some(worker) if pending.is_of(&self.core.scope_state) => {
                let session = (&self.core.scope_state).into();
                let awaited = Awaited::OfSession { session, task: Some(pending.task()) };
                pending.wait(worker, |waiter| worker.wait_apart(waiter, awaited));
            }
            // The join may belong to a session of another runtime: only a waker may outlive what it
            // wakes.
            _ => return self.block_on(SessionJoin::new(pending)),
        }
        pending.note_joined();
        pending.take()
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        let shared = &self.core.shared;
        if let Some(worker) = worker_within(shared) {
            return worker.block_on(future, |waiter| worker.wait_apart(waiter, Awaited::Others));
        }
        let body = BodyWaker::new();
        poll_until_ready(future, &Arc::clone(&body).into(), || {
            shared.sit(|at| {
                if !body.wait_at(&at.waiter(), |waiter| at.wait(waiter, Awaited::Others)) {
                    thread::yield_now();
                }
            });
        })
    }

    fn cancel_token(&self) -> CancelToken {
        self.core.scope_state.cancel_token()
    }

    fn cancel_on_failure(&self, cancels: bool) {
        self.core.scope_state.cancel_on_failure(cancels);
    }
}
