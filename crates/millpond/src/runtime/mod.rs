//! The runtime: a program builds it, opens scopes with it, and drops it. Its parts are in the other
//! files of this folder.

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};

mod builder;
mod dumps;
pub(crate) mod engine;
pub(crate) mod external;
#[cfg(all(test, not(loom)))]
mod issue_inline_tests;
pub(crate) mod join;
#[cfg(feature = "signal")]
mod on_signal;
pub(crate) mod outcome;
pub(crate) mod quiesce;
#[cfg(all(test, not(loom)))]
mod refused_tests;
pub(crate) mod scope;
pub(crate) mod session;
pub(crate) mod spawn;
mod try_scope;
pub(crate) mod wait_on;
pub(crate) mod watchdog;
mod window;

use crate::worker::cancel::Cancels;
use crate::worker::pin;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;
pub use builder::{BuildError, Builder};
use scope::Scope;
use session::{OpenSessions, Session};

use crate::error::{Error, Kind};
use crate::handle::access::Root;
use crate::handle::claim::Claimant;
use crate::panics::catch;
use crate::record::{Recorder, Recording};
use crate::runtime::engine::{DefaultEngine, Engine};
use crate::sync::Mutex;
use crate::worker::current::{is_home, visits_any};
use crate::worker::engine::store::TaskStore;
use crate::worker::threads;
use crate::worker::wait::Waiter;
use crate::worker::{Worker, WorkerCounts};

/// A set of workers with their parts: pool, memory manager, dependence scheme.
///
/// The parts are type parameters with defaults, so everything is dispatched statically; see
/// [`Builder::build_with`]. A runtime is a value: a program may have several.
///
/// Dropping a runtime ends its threads. The drop cancels the tasks of its sessions that have not
/// begun, even of detached ones, and waits for running bodies ([`Session`]).
///
/// ```
/// use millpond::{Runtime, Spawn};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let mut halves = [vec![3, 1], vec![4, 2]];
/// rt.scope(|s| {
///     for half in &mut halves {
///         s.spawn((), |()| half.sort());
///     }
/// })?;
/// assert_eq!(halves, [[1, 3], [2, 4]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Forks
///
/// The child of `fork(2)` has one thread. It has none of the workers of a runtime built before. In
/// the child:
///
/// - [`scope`](Runtime::scope) works, on the calling thread alone.
/// - A task that is spawned on a [`Session`] does not run, and its join returns [`Kind::Forked`].
///   So does every call of a session that would wait. Dropping a session does not wait.
/// - A scope that was open at the fork returns [`Kind::Forked`] when its closure ends. Its tasks
///   run in the parent only. Waiting for such a task, or for a datum, returns [`Kind::Forked`].
///   [`Scope::quiesce`] panics. A [`join`](crate::join) panics if a worker had taken its other half
///   before. [`block_on`](crate::Spawn::block_on) waits for its future, and runs no tasks
///   meanwhile.
/// - Dropping the runtime does nothing. Its memory stays until the process ends.
/// - [`dump`](Runtime::dump) reports that nothing is kept. Nothing is recorded.
///
/// A runtime built in the child works like any other. A child forked in the body of a task must
/// call `exec` or `_exit` there: the worker's loop cannot continue in it. A fork by a bare `clone`
/// system call is not detected.
///
/// ```
/// use millpond::{Kind, Runtime, Spawn};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// // SAFETY: the child only uses the runtime and ends.
/// let child = unsafe { libc::fork() };
/// if child == 0 {
///     let sum = rt.scope(|s| s.wait(s.spawn((), |()| 40)).map(|n| n + 2));
///     let session = rt.session();
///     let never = session.wait(session.spawn((), |()| ()));
///     let is_right = matches!(sum, Ok(Ok(42))) && never.unwrap_err().kind() == &Kind::Forked;
///     // SAFETY: ends the process.
///     unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
/// }
/// let mut status = 1;
/// // SAFETY: a child of this process, and a place for its status.
/// assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
/// assert_eq!(status, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runtime<E: Engine = DefaultEngine> {
    inner: ManuallyDrop<Arc<Inner<E>>>,
}

/// The threads of a runtime and their shared state. The runtime owns it, and each session keeps it
/// until its end.
pub struct Inner<E: Engine> {
    // First, so that it is dropped while the runtime exists.
    #[cfg(feature = "signal")]
    _on_signal: Option<on_signal::OnSignal>,
    _watchdog: Option<watchdog::Watchdog>,
    shared: Arc<Shared<E>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Works in place of a scope's caller while there is none. The first session starts it.
    stand_in: Once,
    sessions: OpenSessions<E>,
    /// Tracks unfinished tasks, if the builder has asked for it.
    _recording: Option<Recording>,
}

impl<E: Engine> Drop for Runtime<E> {
    fn drop(&mut self) {
        // SAFETY: this is the only call, and the runtime is not used afterwards.
        unsafe { E::drop_runtime(&mut self.inner) }
    }
}

impl<E: Engine> std::fmt::Debug for Runtime<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("config", &self.shared().config).finish_non_exhaustive()
    }
}

impl<E: Engine> std::fmt::Debug for Inner<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl<E: Engine> Inner<E> {
    /// Whether its threads do not exist in this process.
    pub(crate) fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// Ends the runtime when it is dropped. Cancels the session tasks that have not begun, then
    /// waits for the rest and for the threads. One of the runtime's own threads cannot wait: it may
    /// run a body that must finish first.
    pub(crate) fn end(&self) {
        self.sessions.cancel();
        // This includes spare threads.
        if !is_home(self.shared.runtime_id()) && !visits_any() {
            self.sessions.wait(&self.shared);
            self.stop();
        }
    }

    /// Ends the threads.
    fn stop(&self) {
        self.shared.shut_down();
        let here = thread::current().id();
        let mut threads = { std::mem::take(&mut *self.threads.lock()) };
        loop {
            // A worker that drops the last reference to its own runtime ends by itself.
            for thread in threads.into_iter().filter(|thread| thread.thread().id() != here) {
                thread.join().expect("a worker thread catches what bodies throw");
            }
            // A joined thread may have started others before.
            threads = self.shared.spare_threads();
            if threads.is_empty() {
                break;
            }
        }
    }
}

impl<E: Engine> Drop for Inner<E> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Runtime {
    /// Returns a builder, which chooses how a runtime works.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Builds a runtime of the default parts with the default choices.
    ///
    /// # Errors
    ///
    /// If the system starts no thread.
    pub fn new() -> Result<Runtime, BuildError> {
        Builder::default().build()
    }
}

impl<E: Engine> Runtime<E> {
    fn shared(&self) -> &Arc<Shared<E>> {
        &self.inner.shared
    }

    /// The number of workers. The caller of a scope is one of them.
    pub fn workers(&self) -> usize {
        self.shared().config.workers
    }

    /// The counts of each worker since the runtime was built.
    ///
    /// The first entry is the sum for three kinds of threads:
    ///
    /// - The callers of scopes.
    /// - The thread that works in their place when there are sessions.
    /// - The spare threads, which work in place of threads that wait.
    ///
    /// Takes O(workers) and stops no thread: tasks running meanwhile may be counted or not.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::builder().workers(2).build()?;
    /// rt.scope(|s| (0..10).for_each(|_| drop(s.spawn((), |()| ()))))?;
    /// assert_eq!(rt.counts().len(), 2);
    /// assert_eq!(rt.counts().iter().map(|worker| worker.tasks).sum::<u64>(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counts(&self) -> Vec<WorkerCounts> {
        self.shared().counts()
    }

    /// What the pool has counted since the runtime was built. The pools of [TP](crate#sources)
    /// count their calls for a wake-up. The runtime counts woken workers under every pool.
    ///
    /// Takes O(workers) and stops no thread.
    ///
    /// ```
    /// # use millpond::Runtime;
    /// let rt = Runtime::builder().workers(1).build()?;
    /// assert_eq!(rt.pool_counts().more_arrays, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pool_counts(&self) -> crate::pool::Counts {
        self.shared().pool_counts()
    }

    /// The parts that were chosen at run time, where the type allows a choice.
    #[cfg(feature = "catalogue")]
    pub(crate) fn choices(&self) -> &crate::worker::engine::Choices<E> {
        self.shared().choices()
    }

    /// The recorder of this runtime: it passes the events of tasks to a
    /// [`Sink`](crate::record::Sink).
    pub fn recorder(&self) -> &Recorder {
        &self.shared().recorder
    }

    /// Opens a scope and runs `f` in it. `f` spawns tasks, which may borrow data that outlives the
    /// call. `scope` returns when all tasks are complete. The caller works meanwhile.
    ///
    /// While it waits, a caller runs only tasks of its own scope. If no spare thread is free, it
    /// may run others' tasks, too.
    ///
    /// The closure must not wait for a task that it has spawned by a barrier or a channel. If there
    /// is one worker, the closure occupies the worker that would run the task. With more workers,
    /// the last task spawned may be in a place that only this worker scans. Use
    /// [`Spawn::wait`](crate::Spawn::wait) and its variants instead.
    ///
    /// Any number of threads may call at the same time, and so may tasks of any runtime. Up to five
    /// callers share the worker threads. Further callers run their tasks alone until one of the
    /// five returns, so no caller waits for another. A task that opens a scope on its own runtime
    /// is not a new caller.
    ///
    /// # Errors
    ///
    /// The first failure in reference order; a [cause](Error) if there is one. [`Kind::Cancelled`]
    /// if the scope was cancelled. In both cases the value of `f` is dropped.
    ///
    /// # Panics
    ///
    /// If `f` panics. The panic continues after all tasks are complete.
    #[track_caller]
    pub fn scope<'env, F, R>(&self, f: F) -> Result<R, Error>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, E>) -> R,
    {
        let place = Location::caller();
        self.shared().enter(|worker| run_scope(worker, f, place))
    }

    /// Opens a session: a scope that borrows nothing, for async code. Keep the runtime: its drop
    /// ends its sessions ([`Session`]).
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// let rt = Runtime::new()?;
    /// let (session, hits) = (rt.session(), Handle::new(0));
    /// let server = std::thread::spawn(move || {
    ///     session.spawn(hits.inout(), |hits| *hits += 1);
    ///     session.wait(session.spawn(hits.read(), |hits| *hits))
    /// });
    /// assert_eq!(server.join().unwrap()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In the child of a [fork](Runtime#forks) its tasks do not run.
    ///
    /// # Panics
    ///
    /// If the system starts no thread. The first session starts one more thread, because a session
    /// has no caller that works.
    #[track_caller]
    pub fn session(&self) -> Session<E> {
        let place = Location::caller();
        if !self.shared().is_forked() {
            // After a panic, the next call tries again.
            self.inner.stand_in.call_once_force(|_| {
                let thread =
                    threads::start_worker(self.shared(), self.workers()).expect("the system starts a worker thread");
                self.inner.threads.lock().push(thread);
            });
        }
        Session::open(Arc::clone(&self.inner), place)
    }

    /// Like [`scope`](Runtime::scope), for a closure that uses `?`. An error of the closure cancels
    /// nothing: the tasks spawned before it run.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, log) = (Runtime::new()?, Handle::new(Vec::new()));
    /// let result: Result<(), Box<dyn std::error::Error>> = rt.try_scope(|s| {
    ///     for word in ["1", "two", "3"] {
    ///         let n: u32 = word.parse()?;
    ///         s.spawn(log.inout(), move |log| log.push(n));
    ///     }
    ///     Ok(())
    /// });
    /// assert!(result.unwrap_err().is::<std::num::ParseIntError>());
    /// assert_eq!(log.into_inner()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// In this order: the first failure of a task that is not a [consequence](Error) of another
    /// failure; the error of `f`; the first consequence.
    ///
    /// # Panics
    ///
    /// Like [`scope`](Runtime::scope).
    #[track_caller]
    pub fn try_scope<'env, F, R, X>(&self, f: F) -> Result<R, X>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, E>) -> Result<R, X>,
        X: From<Error>,
    {
        try_scope::run(self, f)
    }
}

fn run_scope<'env, E: Engine, F, R>(worker: &Worker<E>, f: F, place: &'static Location<'static>) -> Result<R, Error>
where
    F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, E>) -> R,
{
    let (cancels, claimant) = (Cancels::new(), Claimant::enter(true));
    let _watched = worker.shared().open_watched();
    let (before, record) = (worker.log.body(), worker.log.open(place));
    let scope_state = ScopeState::root(&cancels, &claimant, worker.seat(), record);
    E::Tasks::open_scope(worker, &scope_state);
    // SAFETY: worker and scope state outlive the scope, which is complete before they are dropped.
    // This thread holds the worker's seat until then, and runs the closure.
    let scope = unsafe { Scope::<'_, 'env, Root, E>::new(worker, &scope_state) };
    let result = catch(|| f(&scope));
    if worker.shared().is_forked() {
        // Tasks taken by other threads never finish here, and nothing of this scope runs here any
        // more.
        return result.map_or_else(|caught| caught.resume(), |_| Err(Error::of_scope("scope", place, Kind::Forked)));
    }
    if record != 0 {
        worker.log.ended(record, result.is_ok(), 0);
    }
    let pinned = pin::caller(worker.shared(), worker.seat());
    E::end_scope(worker, &scope_state);
    drop(pinned);
    if record != 0 {
        worker.log.close(record, before);
    }
    let value = match result {
        Ok(value) => value,
        Err(caught) => caught.resume(),
    };
    match scope_state.first_failure() {
        Some(error) => Err(error),
        None if scope_state.is_cancelled() => Err(Error::of_scope("scope", place, Kind::Cancelled)),
        None => Ok(value),
    }
}

impl<E: crate::worker::engine::WorkerEngine> Worker<E> {
    /// Ends a root scope after its closure: waits for the outstanding tasks.
    pub(crate) fn end_scope_here(&self, scope_state: &ScopeState) {
        self.combine_open(scope_state);
        E::Tasks::end_scope(self, scope_state);
        self.wait_for_admission(scope_state);
        let waiter = Waiter::new(self.mailbox());
        if !scope_state.close(Some(&waiter)) {
            self.wait(&waiter, scope_state);
        }
    }
}
