//! Sessions: scopes without borrows, for use from async code and from threads of one's own.

use std::cell::Cell;
use std::mem::{self, ManuallyDrop};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use super::Inner;
use super::body::{Body, Code, ParentCode, payload, write_body};
use super::cancel::{CancelToken, Cancels};
use super::domain::{Domain, NO_SEAT};
use super::issue::{Plan, free_retired};
use super::join::{Pending, Release, Spawned};
use super::scope::Scope;
use super::shared::Shared;
use super::spawn::{Options, Spawn};
use super::wait_on::Ref;
use super::waker::BodyWaker;
use super::watchdog::Open;
use crate::access::{Accesses, ArgsOf, CanRead, CanWrite, In, Root};
use crate::engine::{DefaultEngine, Engine};
use crate::error::{Error, Kind, Label};
use crate::handle::Handle;
use crate::handle::claim::Claimant;
use crate::pool::{Leave, Put};
use crate::record::What;
use crate::task::{TaskRef, VTable, flag};
use crate::worker::Awaited;
use crate::worker::current::{self, worker_of, worker_within};

/// A scope that borrows nothing: its tasks are `'static`, and its joins are `Send` futures.
///
/// It may move between threads, as an async task does, and spawns from wherever it is; the tasks run on the runtime's
/// workers. Dropping it waits for its tasks; await the joins first where blocking is not welcome. A spawn waits for
/// room in the window if that is full; in a task of the same runtime, perhaps the session's own, it lets others run
/// and, if that makes no room, exceeds the bound. So hold no lock over a spawn that the tasks ask for.
///
/// Waiting does not keep a task's worker: another thread works in its place, or the body is put aside. But no task may wait for its own session's end, nor
/// for anything else that cannot come before it has ended itself.
///
/// In the child of a [fork](crate::Runtime#forks) it runs no tasks.
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
#[derive(Debug)]
pub struct Session<E: Engine = DefaultEngine> {
    core: Arc<Core<E>>,
    /// Whether it was closed. A cell, since a session spawns from one thread at a time.
    closed: Cell<bool>,
}

/// What a session's joins keep.
#[derive(Debug)]
struct Core<E: Engine> {
    /// Stays in the child of a fork.
    inner: ManuallyDrop<Arc<Inner<E>>>,
    domain: Domain,
    claimant: Claimant,
    _cancels: Box<Cancels>,
    _watched: Option<Open>,
}

// SAFETY: the domain's cells belong to its owner, the session, which is used by one thread at a time; joins only reach
// what is synchronized (failures, watchers).
unsafe impl<E: Engine> Send for Core<E> {}
// SAFETY: as above.
unsafe impl<E: Engine> Sync for Core<E> {}

impl<E: Engine> Drop for Core<E> {
    fn drop(&mut self) {
        if !self.inner.is_forked() {
            // SAFETY: this is the drop, and it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl<E: Engine> Release for Arc<Core<E>> {
    fn free(&self, task: TaskRef) {
        self.inner.shared.visit(|worker| worker.free(task));
    }

    fn is_forked(&self) -> bool {
        self.inner.is_forked()
    }
}

/// The value of a session's task: a `Send` future, which may outlive the session.
///
/// Dropping it does nothing to the task. It keeps the task's block, and what the session and the runtime share. Each
/// poll takes constant time; it wakes whoever polled it last, once. Its errors are those of
/// [`Spawn::wait`](crate::Spawn::wait).
///
/// ```
/// use millpond::{Runtime, Spawn};
///
/// let rt = Runtime::new()?;
/// let session = rt.session();
/// let answer = session.spawn((), |()| 42);
/// session.close()?;
/// assert!(answer.is_done());
/// let elsewhere = std::thread::spawn(move || Runtime::new().unwrap().scope(|s| s.block_on(answer)));
/// assert_eq!(elsewhere.join().unwrap()??, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SessionJoin<O>(Promised<O>);

enum Promised<O> {
    Task(Pending<O, Box<dyn Release + Send>>),
    /// It was not spawned.
    Refused(Error),
    Taken,
}

// SAFETY: a join is the only one to take the value, which it may do on another thread since it is `Send`; the block's
// state and the scope's watchers are synchronized, and what it keeps is `Send`.
unsafe impl<O: Send> Send for SessionJoin<O> {}
// SAFETY: a shared join only tells whether the task is complete.
unsafe impl<O: Send> Sync for SessionJoin<O> {}

impl<O> SessionJoin<O> {
    /// Whether the task is complete, its descendants included. Never waits; once true it stays so.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Promised::Task(pending) => pending.is_done(),
            Promised::Refused(_) | Promised::Taken => true,
        }
    }
}

impl<O> Future for SessionJoin<O> {
    type Output = Result<O, Error>;

    /// # Panics
    ///
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let pending = match mem::replace(&mut self.0, Promised::Taken) {
            Promised::Task(pending) => pending,
            Promised::Refused(error) => return Poll::Ready(Err(error)),
            Promised::Taken => panic!("a join is not polled after it was ready"),
        };
        if let Some(error) = pending.never() {
            return Poll::Ready(Err(error));
        }
        if pending.is_done() || !pending.wake_when_done(context.waker()) {
            pending.note_joined();
            return Poll::Ready(pending.take());
        }
        self.0 = Promised::Task(pending);
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

impl<E: Engine> Session<E> {
    pub(crate) fn open(inner: Arc<Inner<E>>, place: &'static Location<'static>) -> Self {
        let (cancels, claimant) = (Box::new(Cancels::new()), Claimant::enter(false));
        let record = if inner.shared.recorder.is_on() && !inner.is_forked() {
            inner.shared.visit(|worker| worker.log.open_session(place))
        } else {
            0
        };
        let domain = Domain::root(&cancels, &claimant, NO_SEAT, record);
        let watched = inner.shared.open_watched();
        let core =
            Arc::new(Core { inner: ManuallyDrop::new(inner), domain, claimant, _cancels: cancels, _watched: watched });
        Session { core, closed: Cell::new(false) }
    }

    fn shared(&self) -> &Shared<E> {
        &self.core.inner.shared
    }

    fn domain(&self) -> &Domain {
        let domain = &self.core.domain;
        // Caught where the reducers are compared: they count as unequal.
        assert!(!domain.is_comparing(), "a session cannot be used by the comparison of two reducers");
        domain
    }

    /// Waits for all tasks, as the drop of a session does, which keeps what it found to itself. It blocks its thread.
    ///
    /// ```
    /// use millpond::{Handle, Kind, Runtime, Spawn};
    ///
    /// let (rt, page) = (Runtime::new()?, Handle::<String>::unset());
    /// let session = rt.session();
    /// session.task("fetch").spawn(page.write(), |_unset| ());
    /// assert_eq!(session.close().unwrap_err().kind(), &Kind::Unwritten { arg: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first failure in reference order, a [cause](Error) if there is one; [`Kind::Cancelled`] if the session was cancelled.
    #[track_caller]
    pub fn close(self) -> Result<(), Error> {
        if self.is_forked() {
            return Err(Error::new(Label::place(Location::caller()), Kind::Forked));
        }
        self.finish();
        let domain = self.domain();
        let cancelled = || Error::new(Label::place(Location::caller()), Kind::Cancelled);
        domain.first_failure().or_else(|| domain.is_cancelled().then(cancelled)).map_or(Ok(()), Err)
    }

    /// Whether no task of it runs in this process.
    fn is_forked(&self) -> bool {
        self.core.inner.is_forked()
    }

    fn finish(&self) {
        if !self.closed.replace(true) && !self.is_forked() {
            self.shared().end_scope(self.domain());
            if self.domain().record() != 0 {
                self.shared().visit(|worker| worker.log.note(What::Completed { body: self.domain().record() }));
            }
            self.core.claimant.leave();
        }
    }

    /// Spawns on the workers: a session's own thread runs no bodies.
    fn send<A, F, O>(&self, options: &Options, accesses: &A, body: F, kind: &'static VTable) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
    {
        if self.is_forked() {
            let label = options.label.unwrap_or(Label::place(options.place));
            return SessionJoin(Promised::Refused(Error::new(label, Kind::Forked)));
        }
        self.shared().throttle(self.domain(), options.bytes);
        let (pending, retired) = self.shared().visit(|worker| {
            let payload = payload::<A::Shape, F, O>();
            let plan = Plan { domain: self.domain(), options, vtable: kind, payload, may_run: false };
            let drafted = worker.draft(plan, accesses);
            let body = Body { shape: drafted.shape, f: body };
            // SAFETY: drafted with the payload of these types.
            unsafe { write_body::<A::Shape, F>(drafted.room, body) };
            drafted.task.add_flags(flag::COUNTED);
            let release: Box<dyn Release + Send> = Box::new(Arc::clone(&self.core));
            let pending = Pending::new::<A::Shape, F>(Spawned::new(drafted.task, true), release);
            worker.issue(drafted.task, Put::Spawned);
            // Whoever waits for it may be elsewhere, and the body that spawns it here may wait for that one.
            worker.leave_tasks(Leave::Seat);
            (pending, worker.take_retired(drafted.retired_before))
        });
        free_retired(retired, self.domain(), options);
        SessionJoin(Promised::Task(pending))
    }
}

impl<E: Engine> Drop for Session<E> {
    fn drop(&mut self) {
        self.finish();
    }
}

impl<E: Engine> Spawn<'static> for Session<E> {
    type Brand = Root;
    type Inner<'t> = Scope<'static, 'static, In<'t>, E>;
    type Join<O: Send + 'static> = SessionJoin<O>;

    fn spawn_with<A, F, O>(&self, options: Options, accesses: A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> O + Send + 'static,
    {
        self.send(&options, &accesses, body, Code::<'static, Root, A, F, O>::LEAF)
    }

    fn nest_with<A, F, O>(&self, options: Options, accesses: A, body: F) -> SessionJoin<O>
    where
        A: Accesses<'static, Root>,
        O: Send + 'static,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> O + Send + 'static,
    {
        self.send(&options, &accesses, body, ParentCode::<'static, 'static, E, Root, A, F, O>::NEST)
    }

    #[track_caller]
    fn set<T: Send + 'static, R: CanWrite>(&self, handle: &Handle<T, Root, R>, value: T) {
        let place = Location::caller();
        if self.is_forked() {
            return;
        }
        // SAFETY: this thread uses the session.
        drop(unsafe { self.shared().set(self.domain(), handle, value, place) });
    }

    #[track_caller]
    fn try_set<T: Send + 'static, R: CanWrite>(&self, handle: &Handle<T, Root, R>, value: T) -> Result<(), T> {
        let place = Location::caller();
        if self.is_forked() {
            return Err(value);
        }
        // SAFETY: this thread uses the session.
        self.shared().visit(|worker| unsafe { worker.try_set(self.domain(), handle, value, place) }).map(drop)
    }

    #[track_caller]
    fn wait_on<'h, T: Send + 'static, R: CanRead>(
        &self,
        handle: &'h mut Handle<T, Root, R>,
    ) -> Result<Ref<'h, T, R>, Error> {
        let place = Location::caller();
        if self.is_forked() {
            return Err(Error::new(Label::place(place), Kind::Forked));
        }
        // SAFETY: a session is not `Sync`: this thread alone uses it.
        unsafe { self.shared().wait_on(self.domain(), handle, place) }
    }

    fn wait<O: Send + 'static>(&self, mut join: SessionJoin<O>) -> Result<O, Error> {
        let pending = match mem::replace(&mut join.0, Promised::Taken) {
            Promised::Task(pending) => pending,
            Promised::Refused(error) => return Err(error),
            Promised::Taken => panic!("a join is not waited for after it was ready"),
        };
        if let Some(error) = pending.never() {
            return Err(error);
        }
        if let Some(worker) = worker_of(self.shared())
            && !pending.is_done()
            && let Some(kind) = worker.refuses_wait()
        {
            return Err(Error::new(pending.label(), kind));
        }
        match worker_of(self.shared()) {
            Some(worker) if pending.is_of(self.domain()) => {
                pending.wait(worker, |waiter| worker.wait_apart(waiter, Awaited::Others))
            }
            // Perhaps another session's, of another runtime: only a waker may outlive what it wakes.
            _ => return self.block_on(SessionJoin(Promised::Task(pending))),
        }
        pending.note_joined();
        pending.take()
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        if let Some(worker) = worker_within(self.shared()) {
            return worker.block_on(future, |waiter| worker.wait_apart(waiter, Awaited::Others));
        }
        let mut future = std::pin::pin!(future);
        let body = BodyWaker::new();
        let waker = Arc::clone(&body).into();
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            self.shared().sit(|at| {
                let waiter = at.waiter();
                if body.watch(&waiter) {
                    at.wait(&waiter);
                    body.unwatch();
                } else {
                    thread::yield_now();
                }
            });
        }
    }

    fn cancel_token(&self) -> CancelToken {
        self.domain().cancel_token()
    }

    fn cancel_on_failure(&self, cancels: bool) {
        self.domain().cancel_on_failure(cancels);
    }
}
