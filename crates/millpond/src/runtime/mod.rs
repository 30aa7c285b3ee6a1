//! The runtime: what a program holds, opens scopes with and drops; its parts in the files beside this.

use std::io;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};

pub(crate) mod after_fork;
mod builder;
pub(crate) mod cancel;
pub(crate) mod config;
mod count;
mod dumps;
pub(crate) mod external;
pub(crate) mod join;
#[cfg(feature = "signal")]
mod on_signal;
pub(crate) mod outcome;
mod pin;
pub(crate) mod quiesce;
#[cfg(all(test, not(loom)))]
mod refused_tests;
pub(crate) mod scope;
pub(crate) mod scope_state;
pub(crate) mod session;
pub(crate) mod spawn;
mod try_scope;
pub(crate) mod wait_on;
pub(crate) mod watch;
pub(crate) mod watchdog;
mod window;

use crate::runtime::scope_state::ScopeState;
use crate::worker::seats::Shared;
pub use builder::{BuildError, Builder};
use cancel::Cancels;
use scope::Scope;
use session::{OpenSessions, Session};

use crate::access::Root;
use crate::engine::store::TaskStore;
use crate::engine::{DefaultEngine, Engine};
use crate::error::{Error, Kind, Label};
use crate::handle::claim::Claimant;
use crate::panics::catch;
use crate::record::{Recorder, Recording};
use crate::sync::Mutex;
use crate::worker::current::{is_home, set_home, visits_any};
use crate::worker::threads;
use crate::worker::wait::Waiter;
use crate::worker::{Worker, WorkerCounts};

/// Workers, and the parts that they work with.
///
/// The parts are type parameters with defaults, so everything is dispatched statically; see
/// [`Builder::build_with`]. A runtime is a value: a program may have several.
///
/// Dropping one ends its threads. It cancels what its sessions have spawned and what has not begun, detached ones included, and
/// waits for the bodies that run ([`Session`]).
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
/// The child of `fork(2)` has one thread, and so none of the workers of a runtime that was built before. There:
///
/// - [`scope`](Runtime::scope) works, on the calling thread alone.
/// - A task that is spawned on a [`Session`] does not run, and its join returns [`Kind::Forked`]. So does every call of a
///   session that would wait; it does not wait when it is dropped.
/// - A scope that was open at the fork returns [`Kind::Forked`] when its closure ends. Its tasks run in the parent only. Waiting for
///   such a task, or for a datum, returns [`Kind::Forked`]. [`Scope::quiesce`] panics. So does a [`join`](crate::join) if a
///   worker had taken its other half before. [`block_on`](crate::Spawn::block_on) waits for its future, and runs nothing meanwhile.
/// - Dropping the runtime does nothing. Its memory stays until the process ends.
/// - [`dump`](Runtime::dump) says that nothing is kept. Nothing is recorded.
///
/// A runtime that is built in the child is like any other. A child that was forked in the body of a task must call `exec` or
/// `_exit` there: the worker's loop cannot go on in it. A fork by a bare `clone` system call is not noticed.
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

/// The threads of a runtime, and what they share. The runtime has it, and each session until it has ended.
pub struct Inner<E: Engine> {
    // First: it is dropped while the runtime is there.
    #[cfg(feature = "signal")]
    _on_signal: Option<on_signal::OnSignal>,
    _watchdog: Option<watchdog::Watchdog>,
    shared: Arc<Shared<E>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Works in the place of a scope's caller while there is none: started by the first session.
    stand_in: Once,
    sessions: OpenSessions<E>,
    /// Keeps account of unfinished tasks, if the builder has asked for it.
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

/// Starts the worker thread of a seat.
pub(crate) fn start<E: Engine>(shared: &Arc<Shared<E>>, seat: usize) -> io::Result<JoinHandle<()>> {
    let (shared, inherited) = (Arc::clone(shared), pin::inherited());
    threads::start(format!("millpond-{seat}"), move || {
        pin::release(inherited);
        // A spare thread works in anybody's place.
        if shared.config.pin && !shared.spares.has(seat) {
            pin::worker(seat);
        }
        crate::worker::overflow::prepare_thread();
        set_home(shared.runtime_id());
        let worker = shared.worker(seat);
        let _entered = crate::worker::current::Enter::new(worker);
        worker.live();
    })
}

impl<E: Engine> Inner<E> {
    /// Whether its threads do not exist in this process.
    pub(crate) fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// The runtime is dropped: cancels what its sessions have not begun, and waits for the rest, and for the threads. One of the
    /// runtime's own threads cannot wait: it may be in the very body that is to end.
    pub(crate) fn end(&self) {
        self.sessions.cancel();
        // Spare threads, too.
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
            // Each thread that was joined may have started some before.
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
    /// Chooses how a runtime works.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A runtime of the default parts with the default choices.
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

    /// How many workers there are, the caller of a scope among them.
    pub fn workers(&self) -> usize {
        self.shared().config.workers
    }

    /// What each worker has done since the runtime was built; the first entry is that of all callers of scopes
    /// together, of the thread that works in their place when there are sessions, and of the spare threads, which work in place of
    /// threads that wait. Takes O(workers) and stops nobody: what is running meanwhile may count or not.
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

    /// Which parts it has, of those that its type allows.
    #[cfg(feature = "catalogue")]
    pub(crate) fn choices(&self) -> &crate::engine::Choices<E> {
        self.shared().choices()
    }

    /// The recorder of this runtime: gives what its tasks do to a [`Sink`](crate::record::Sink).
    pub fn recorder(&self) -> &Recorder {
        &self.shared().recorder
    }

    /// Opens a scope: `f` spawns tasks, which may borrow what outlives the call; `scope` returns when all are
    /// complete. The caller works meanwhile.
    ///
    /// While it waits, a caller runs tasks of its own scope only. (If more threads wait than there are spare threads, it may take up
    /// others' tasks, too.) A closure must not wait by means of its own, a barrier or a channel, for a task that it has spawned:
    /// alone, it is the worker that would run it; and with others, the last one spawned may lie where only it looks.
    /// [`Spawn::wait`](crate::Spawn::wait) and its like are what a closure waits with.
    ///
    /// Any number of threads may call at the same time, and tasks may call, whatever runtime they are of. Five callers
    /// work together with the worker threads. Those beyond, until one of the five returns, run their tasks by
    /// themselves: nobody waits for anybody. A task that opens a scope on its own runtime is no new caller.
    ///
    /// # Errors
    ///
    /// The first failure in reference order, a [cause](Error) if there is one; [`Kind::Cancelled`] if the scope was cancelled. The
    /// value of `f` is dropped then.
    ///
    /// # Panics
    ///
    /// If `f` panics, after all tasks are complete.
    #[track_caller]
    pub fn scope<'env, F, R>(&self, f: F) -> Result<R, Error>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, E>) -> R,
    {
        let place = Location::caller();
        self.shared().enter(|worker| run_scope(worker, f, place))
    }

    /// Opens a session: a scope that borrows nothing, for async code. The runtime must stay: its drop ends its sessions
    /// ([`Session`]).
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
    /// If the system starts no thread. The first session starts one more, which works in the place of the caller that
    /// a session does not have.
    #[track_caller]
    pub fn session(&self) -> Session<E> {
        let place = Location::caller();
        if !self.shared().is_forked() {
            // After a panic the next call tries again.
            self.inner.stand_in.call_once_force(|_| {
                let thread = start(self.shared(), self.workers()).expect("the system starts a worker thread");
                self.inner.threads.lock().push(thread);
            });
        }
        Session::open(Arc::clone(&self.inner), place)
    }

    /// As [`scope`](Runtime::scope), for a closure that uses `?`. An error of the closure's own cancels nothing: the
    /// tasks spawned before it run.
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
    /// The first failure of a task that is no [consequence](Error) of another, else what `f` returned, else the first consequence.
    ///
    /// # Panics
    ///
    /// As [`scope`](Runtime::scope).
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
    let scope_state = ScopeState::root(&cancels, &claimant, worker.seat().index(), record);
    E::Tasks::open_scope(worker, &scope_state);
    // SAFETY: worker and scope state outlive the scope, which is complete before they go. This thread holds the worker's
    // seat until then, and runs the closure.
    let scope = unsafe { Scope::<'_, 'env, Root, E>::new(worker, &scope_state) };
    let result = catch(|| f(&scope));
    if worker.shared().is_forked() {
        // What others have taken never ends here, and nothing of this scope runs here any more.
        return result.map_or_else(|caught| caught.resume(), |_| Err(Error::new(Label::place(place), Kind::Forked)));
    }
    if record != 0 {
        worker.log.ended(record, result.is_ok(), 0);
    }
    let pinned = pin::caller(worker.shared(), worker.seat().index());
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
        None if scope_state.is_cancelled() => Err(Error::new(Label::place(place), Kind::Cancelled)),
        None => Ok(value),
    }
}

impl<E: Engine> Worker<E> {
    /// The closure of a root scope has ended: waits for what is outstanding.
    pub(crate) fn end_scope_here(&self, scope_state: &ScopeState) {
        self.combine_open(scope_state);
        E::Tasks::end_scope(self, scope_state);
        self.wait_for_admission(scope_state);
        let waiter = Waiter::new(self.seat());
        if !scope_state.close(Some(&waiter)) {
            self.wait(&waiter, scope_state);
        }
    }
}
