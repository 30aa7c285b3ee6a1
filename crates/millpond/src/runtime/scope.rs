//! Scopes: a body, or the caller of a runtime, spawns through a scope.

use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use super::join::{Join, Spawned, must_count};
use super::outcome::{Outcome, value_of};
use super::spawn::{Options, Spawn};
use super::wait_on::Ref;
use crate::error::{Error, Kind, Label};
use crate::handle::Handle;
use crate::handle::access::{Accesses, ArgsOf, CanRead, CanWrite, In, Root};
use crate::memory::Memory;
use crate::pool::Put;
use crate::record::{Id, What};
use crate::runtime::engine::SpawnStore;
use crate::runtime::engine::{DefaultEngine, Engine};
use crate::runtime::external::scope_handle::ScopeHandle;
use crate::runtime::external::tasks::ExternalTasks;
use crate::runtime::spawn::body::{Body, call_leaf, payload, write_body};
use crate::runtime::spawn::issue::{ByScheme, Plan, Prepared};
use crate::task::{TaskRef, VTable, flag};
use crate::worker::Worker;
use crate::worker::cancel::CancelToken;
use crate::worker::complete::{serves, settle};
use crate::worker::config::Inline;
use crate::worker::engine::store::TaskStore;
use crate::worker::external::{Admission, HandleState};
use crate::worker::grain::{Ran, RunSite};
use crate::worker::scope_state::ScopeState;

/// The scope of a body: spawns tasks and waits for them, through [`Spawn`].
///
/// It stays on its body's thread: a task that captured it could spawn out of order.
///
/// `B` is the kind of scope: [`Root`](crate::Root) for a root scope's closure, `In<'_>` in a body.
/// Write a function for both kinds over [`Spawn`]. If it needs [`ExternalTasks`], or serves one
/// kind only, name the scope:
///
/// ```
/// use millpond::{Runtime, Scope, Session, Spawn};
///
/// fn root(s: &Scope<'_, '_>) {
///     s.nest((), |s, ()| body(s));
/// }
/// fn body(s: &Scope<'_, '_, millpond::In<'_>>) {
///     s.spawn((), |()| ());
/// }
/// struct Server {
///     session: Session,
/// }
///
/// let rt = Runtime::new()?;
/// rt.scope(root)?;
/// Server { session: rt.session() }.session.close().wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scope<'s, 'env: 's, B = Root, E: Engine = DefaultEngine> {
    at: At<E>,
    _lives: PhantomData<(fn(&'s ()) -> &'s (), fn(&'env ()) -> &'env (), fn(B) -> B)>,
}

/// The location of a scope.
struct At<E: Engine> {
    worker: NonNull<Worker<E>>,
    scope_state: NonNull<ScopeState>,
}

/// A brand whose scopes may leave their thread. No type implements it; it only serves the
/// compiler's message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a scope stays with its body: no task and no other thread may use it",
    label = "uses the scope around it",
    note = "spawn and wait through the scope that the body of a `nest` is given; a leaf (`spawn`) can do neither"
)]
pub trait ScopesMayLeave {}

// SAFETY: no type implements the bound, so no scope is `Send`.
#[doc(hidden)]
unsafe impl<E: Engine, B: ScopesMayLeave> Send for Scope<'_, '_, B, E> {}
// SAFETY: as above: no scope is `Sync`.
#[doc(hidden)]
unsafe impl<E: Engine, B: ScopesMayLeave> Sync for Scope<'_, '_, B, E> {}

impl<'s, 'env, B, E: Engine> Scope<'s, 'env, B, E> {
    /// # Safety
    ///
    /// Worker and scope state outlive the scope. This thread holds the worker's seat and runs the
    /// body of `scope_state` on it.
    pub(crate) unsafe fn new(worker: &Worker<E>, scope_state: &ScopeState) -> Self {
        Scope { at: At { worker: worker.into(), scope_state: scope_state.into() }, _lives: PhantomData }
    }

    #[inline]
    pub(crate) fn worker(&self) -> &Worker<E> {
        // SAFETY: the caller of `new` promised that it lives.
        unsafe { self.at.worker.as_ref() }
    }

    #[inline]
    pub(crate) fn scope_state(&self) -> &ScopeState {
        // SAFETY: the caller of `new` promised that it lives.
        unsafe { self.at.scope_state.as_ref() }
    }

    /// Whether a ready leaf of this kind should run at its spawn.
    #[inline]
    pub(crate) fn runs_inline(&self, kind: &'static VTable) -> bool {
        let shared = self.worker().shared();
        match shared.config.inline {
            Inline::Auto => shared.kinds.is_short(kind),
            Inline::Never => false,
            Inline::Always => true,
        }
    }

    /// Whether a ready task can run now: no input is missing, it is not cancelled, and its
    /// exclusions are free. Takes the exclusions.
    #[inline]
    fn may_start(&self, task: TaskRef) -> bool {
        if self.scope_state().is_cancelled() {
            return false;
        }
        let excludes = task.header().has(flag::COMMUTATIVE);
        if excludes && !self.worker().try_exclude_all(task) {
            return false;
        }
        let served = task.records().iter().all(serves);
        if excludes && !served {
            self.worker().release_exclusions(task);
        }
        served
    }

    /// Whether a leaf that runs at its spawn is issued to the scheme
    /// ([`Builder::issue_inline`](crate::Builder::issue_inline)).
    #[inline]
    fn issues_inline(&self) -> bool {
        self.worker().shared().config.issue_inline
    }

    /// Runs a leaf at its spawn. Its accesses need not be issued: they would be granted at once,
    /// and nothing is issued until the leaf has finished. `record` is its number in the recording.
    #[inline]
    fn run_here<A, F, O, R>(&self, task: TaskRef, record: Id, shape: &A::Shape, body: F) -> Result<O, Error>
    where
        A: Accesses<'s, B>,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R,
    {
        let worker = self.worker();
        let issued = self.issues_inline();
        if issued {
            // SAFETY: this thread owns the scope, and the task was found ready. Its records stay in
            // the block, which is freed below.
            unsafe { E::issue_at_spawn(worker, task) };
        }
        if task.header().has(flag::REDUCE) {
            task.clear_links();
        }
        let before = if record == 0 { 0 } else { worker.log.started(record) };
        let started = worker.grains.start(worker.count_body());
        // SAFETY: the task was prepared with `A`, and all its accesses would be granted.
        let returned =
            self.scope_state().run_inline(|| unsafe { call_leaf::<B, A, F, R>(task.records(), shape, body) });
        let result = value_of::<O, R>(returned);
        worker.grains.end(started, || (&worker.shared().kinds, Ran::of(task, RunSite::AtItsSpawn)));
        if record != 0 {
            worker.log.ended(record, result.is_ok(), before);
        }
        let (value, outcome) = match result {
            Ok(value) => (Some(value), Ok(())),
            Err(why) => (None, Err(why.error(task.label()))),
        };
        let outcome = settle(task, outcome, true);
        if issued {
            E::release_at_spawn(worker, task);
        } else if task.header().has(flag::COMMUTATIVE) {
            worker.release_exclusions(task);
        }
        if task.bytes() != 0 {
            self.scope_state().sub_bytes(task.bytes());
        }
        if let Err(error) = &outcome {
            self.scope_state().fail(task.header().order(), error);
        }
        self.scope_state().count_inline();
        worker.free(task);
        match outcome {
            Ok(()) => Ok(value.expect("a body that ended well has a value")),
            Err(error) => Err(error),
        }
    }

    /// Spawns a leaf as a task; it may still run here.
    #[inline(never)]
    pub(crate) fn spawn_task<A, F, O, R>(
        &self,
        options: Options,
        accesses: A,
        body: F,
        kind: &'static VTable,
        may_run: bool,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's,
    {
        self.worker().throttle(self.scope_state(), options.bytes);
        let (payload, may_run) = (payload::<A::Shape, F, O>(), may_run || self.issues_inline());
        let plan = Plan { scope_state: self.scope_state(), options: &options, vtable: kind, payload, may_run };
        let prepared = self.worker().prepare(ByScheme, plan, &accesses);
        if !prepared.ready || !self.may_start(prepared.task) {
            return self.send(prepared, body, &options);
        }
        // Read first: the task is freed by the run.
        let record = prepared.task.record_id();
        let result = self.run_here::<A, F, O, R>(prepared.task, record, &prepared.shape, body);
        let join = Join::ready(result, record, self.scope_state(), || options.label());
        self.worker().free_retired(prepared.retired_before, self.scope_state(), &options);
        join
    }

    /// Issues a prepared task to the scheme, and makes its join.
    #[inline]
    pub(crate) fn send<S, F, O>(&self, prepared: Prepared<S>, body: F, options: &Options) -> Join<'s, B, O> {
        let Prepared { task, shape, size, room, retired_before, .. } = prepared;
        // SAFETY: the task was prepared with the payload of these types.
        unsafe { write_body::<S, F>(room, Body { shape, f: body }) };
        let counted = must_count::<O>() || size > self.worker().shared().memory.largest_stable();
        if counted {
            task.add_flags(flag::COUNTED);
        }
        let (spawned, worker) = (Spawned::new(task, counted), self.worker());
        worker.issue(task, Put::Spawned);
        if self.scope_state().record() != 0 {
            worker.log.note(What::Issued { body: self.scope_state().record() });
        }
        worker.free_retired(retired_before, self.scope_state(), options);
        Join::to_task::<S, F, E>(spawned, self.at.worker)
    }
}

impl<'s, 'env, E: Engine> Scope<'s, 'env, Root, E> {
    /// Spawns external tasks into this scope: tasks with preconditions, which any thread may
    /// satisfy.
    ///
    /// A pending task counts as a task of the scope from the start. So the scope waits until each
    /// precondition is satisfied or dropped. If one never is, the scope never ends. The types do
    /// not rule this out:
    ///
    /// * A pending task whose closure owns one of its own preconditions. Likewise a cycle of
    ///   pending tasks in which each closure owns a precondition of the next task. A closure is
    ///   dropped when its task ends, and none of these tasks can begin. Give a precondition to the
    ///   code that satisfies it, never to the task that waits for it. If a closure must pass it on,
    ///   put it into a slot (`Mutex<Option<_>>`) that code outside the cycle empties before the
    ///   scope ends.
    /// * A precondition in `mem::forget`, a static, or a cycle of reference counts: it is never
    ///   dropped.
    ///
    /// Cancelling the scope does not help: a pending task fails as
    /// [`Cancelled`](crate::Kind::Cancelled) only when its preconditions are satisfied or dropped.
    pub fn external(&self) -> ExternalTasks<'s, E> {
        // SAFETY: the scope state outlives `'s`, during which `ExternalTasks` can be used.
        unsafe { ExternalTasks::new(self.worker().shared(), self.scope_state()) }
    }

    /// The former name of [`external`](Scope::external).
    #[deprecated(note = "renamed to `external`")]
    pub fn door(&self) -> ExternalTasks<'s, E> {
        self.external()
    }

    /// A handle of the scope, for data made before the scope.
    pub fn scope_handle(&self) -> ScopeHandle<'env> {
        let shared = self.worker().shared();
        let inner = self.scope_state().open_scope_handle(|| {
            let admission = self.scope_state().open_admission(|| Admission::of(shared, self.at.scope_state));
            // SAFETY: the admission belongs to the scope, which closes the scope handle before it
            // ends.
            unsafe { HandleState::new(admission) }
        });
        // SAFETY: the scope ends within `'env`.
        unsafe { ScopeHandle::new(Arc::clone(inner)) }
    }

    /// The former name of [`scope_handle`](Scope::scope_handle).
    #[deprecated(note = "renamed to `scope_handle`")]
    pub fn gate(&self) -> ScopeHandle<'env> {
        self.scope_handle()
    }

    /// The number of tasks now held by its external tasks and its scope handle. It is exact if the
    /// scope is [quiescent](Scope::quiesce) and no other thread satisfies preconditions. Takes
    /// O(workers).
    pub fn held(&self) -> u64 {
        self.scope_state().admission().map_or(0, Admission::held)
    }

    /// Waits for quiescence: until no task of the scope is ready or running. Pending external tasks
    /// may be left. They stay pending unless another thread satisfies their preconditions.
    ///
    /// A body waiting in [`block_on`](Spawn::block_on) counts as running, so this call waits for
    /// it. If that body waits for something after this call, both wait forever. A waiting future
    /// ([`ExternalTasks::run_future`]) counts as held. So does a leaf that waits by
    /// [`ExternalTasks::wait_in_place`].
    ///
    /// # Panics
    ///
    /// In the child of a [fork](crate::Runtime#forks), if the scope was open at the fork.
    ///
    /// ```
    /// use millpond::{Runtime, Spawn};
    ///
    /// let rt = Runtime::new()?;
    /// rt.scope(|s| {
    ///     let pending = s.external().pending(|| ());
    ///     let precondition = pending.hold();
    ///     drop(pending);
    ///     let sum = s.spawn((), |()| 6 * 7);
    ///     s.quiesce();
    ///     assert!(sum.is_done());
    ///     // It waits for us.
    ///     precondition.satisfy();
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn quiesce(&self) {
        let _never: Option<std::convert::Infallible> = self.block_on_or_quiesce(std::future::pending());
    }

    /// Like [`Spawn::block_on`], but returns `None` if the scope is [quiescent](Scope::quiesce) and
    /// the future is not ready. Code outside the scope that wakes the future does not count as part
    /// of the scope.
    ///
    /// # Panics
    ///
    /// If the future panics. Also like [`quiesce`](Scope::quiesce).
    ///
    /// ```
    /// # use millpond::Runtime;
    /// # let rt = Runtime::new()?;
    /// let word = rt.scope(|s| s.block_on_or_quiesce(std::future::pending::<&str>()))?;
    /// assert_eq!(word, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block_on_or_quiesce<F: Future>(&self, future: F) -> Option<F::Output> {
        self.worker().quiesce_or(self.scope_state(), future)
    }
}

impl<'s, 'env, B, E: Engine> Scope<'s, 'env, B, E> {
    /// A new datum in the body's frame, if allowed there.
    #[inline(always)]
    fn own_in_stack<T, R>(&self) -> Option<Handle<T, B, R>> {
        E::Tasks::own_datum::<T>(self.scope_state()).map(Handle::held)
    }

    /// Claims a new datum for this scope, if no other scope can use it.
    #[inline]
    fn own<T, R>(&self, handle: Handle<T, B, R>) -> Handle<T, B, R> {
        let scope_state = self.scope_state();
        if scope_state.task().is_some() {
            handle.datum().claim_new(scope_state.claim(), E::Tasks::ops_of_own(self.worker().tracker(), scope_state));
        }
        handle
    }
}

impl<'s, 'env, B, E: Engine> Spawn<'s> for Scope<'s, 'env, B, E> {
    type Brand = B;
    type Inner<'t> = Scope<'s, 'env, In<'t>, E>;
    type Join<O: Send + 's> = Join<'s, B, O>;

    // Always inlined: at the spawn of a leaf, the inlined code is a third of the work of a call.
    #[inline(always)]
    fn spawn_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's,
    {
        E::Spawns::spawn_leaf(self, options, accesses, body)
    }

    #[inline(always)]
    fn nest_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> R + Send + 's,
    {
        E::Spawns::spawn_parent(self, options, accesses, body)
    }

    #[inline]
    fn handle<T: Send>(&self, value: T) -> Handle<T, B> {
        let handle = self.unset();
        // SAFETY: just made.
        unsafe { handle.fill(value) };
        handle
    }

    #[inline(always)]
    fn unset<T: Send>(&self) -> Handle<T, B> {
        self.own_in_stack().unwrap_or_else(|| self.own(Handle::without_value()))
    }

    #[track_caller]
    fn set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, B, R>, value: T) {
        // SAFETY: this is the scope's thread.
        drop(unsafe { self.worker().set(self.scope_state(), handle, value, Location::caller()) });
    }

    #[track_caller]
    fn try_set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, B, R>, value: T) -> Result<(), T> {
        // SAFETY: this is the scope's thread.
        unsafe { self.worker().try_set(self.scope_state(), handle, value, Location::caller()) }.map(drop)
    }

    #[track_caller]
    fn wait_on<'h, T: Send + 's, R: CanRead>(&self, handle: &'h mut Handle<T, B, R>) -> Result<Ref<'h, T, R>, Error> {
        if self.worker().shared().is_forked() {
            return Err(Error::new(Label::place(Location::caller()), Kind::Forked));
        }
        if let Some(kind) = self.worker().refuses_wait() {
            return Err(Error::new(Label::place(Location::caller()), kind));
        }
        // SAFETY: this is the scope's thread.
        unsafe { self.worker().wait_on(self.scope_state(), handle, Location::caller()) }
    }

    fn wait<O: Send + 's>(&self, join: Join<'s, B, O>) -> Result<O, Error> {
        join.wait(self.worker(), self.scope_state())
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        E::Tasks::block_on_in_body(self.worker(), self.scope_state(), future)
    }

    fn cancel_token(&self) -> CancelToken {
        self.scope_state().cancel_token()
    }

    fn cancel_on_failure(&self, cancels: bool) {
        self.scope_state().cancel_on_failure(cancels);
    }
}

impl<B, E: Engine> std::fmt::Debug for Scope<'_, '_, B, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("scope_state", self.scope_state()).finish_non_exhaustive()
    }
}
