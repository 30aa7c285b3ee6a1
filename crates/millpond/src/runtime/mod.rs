//! The runtime: builder, scopes, spawning, joins.

use std::io;
use std::panic::Location;
use std::sync::{Arc, Once};
use std::thread::{self, JoinHandle};

pub(crate) mod body;
pub(crate) mod cancel;
pub mod catalogue;
pub(crate) mod combine;
pub(crate) mod config;
mod count;
pub(crate) mod domain;
pub(crate) mod door;
mod dumps;
pub(crate) mod engine;
pub(crate) mod fork;
mod issue;
pub(crate) mod join;
mod pin;
pub(crate) mod scope;
pub(crate) mod session;
pub(crate) mod shared;
pub(crate) mod spawn;
pub(crate) mod wait_on;
mod waker;
pub(crate) mod watch;

use cancel::Cancels;
use config::{Config, Inline, LEAST_STACK, MOST_WORKERS};
use domain::Domain;
use dumps::OnSignal;
use engine::{DefaultMemory, DefaultPool, DefaultScheme, Engine, Parts};
use scope::Scope;
use session::Session;
use shared::Shared;

use crate::access::Root;
use crate::caught::catch;
use crate::depend::Scheme;
use crate::error::{Error, Kind, Label};
use crate::handle::claim::Claimant;
use crate::memory::Memory;
use crate::pool::Pool;
use crate::record::{Recorder, Recording};
use crate::sync::Mutex;
use crate::worker::sleep::Idle;
use crate::worker::wait::Waiter;
use crate::worker::{Worker, WorkerCounts};

/// Workers, and the parts that they work with.
///
/// The parts are type parameters with defaults, so everything is dispatched statically; see
/// [`Builder::build_with`]. A runtime is a value: a program may have several, and dropping one ends its threads.
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
pub struct Runtime<M: Memory = DefaultMemory, P: Pool = DefaultPool, D: Scheme = DefaultScheme> {
    inner: Arc<Inner<Parts<M, P, D>>>,
}

/// The threads of a runtime, and what they share.
pub(crate) struct Inner<E: Engine> {
    // First: it is dropped while the runtime is there.
    _on_signal: Option<OnSignal<E>>,
    shared: Arc<Shared<E>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Works in the place of a scope's caller while there is none: started by the first session.
    stand_in: Once,
    /// Keeps account of unfinished tasks, if the builder has asked for it.
    _recording: Option<Recording>,
}

impl<M: Memory, P: Pool, D: Scheme> std::fmt::Debug for Runtime<M, P, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("config", &self.shared().config).finish_non_exhaustive()
    }
}

impl<E: Engine> std::fmt::Debug for Inner<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

/// Chooses how a runtime works; made by [`Runtime::builder`].
///
/// ```
/// use millpond::{Idle, Runtime};
///
/// let polite = Runtime::builder().workers(2).idle(Idle::Sleep).stack_size(256 << 10);
/// let (one, other) = (polite.clone().build()?, polite.window(100).build()?);
/// assert_eq!((one.workers(), other.workers()), (2, 2));
/// # Ok::<(), millpond::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    config: Config,
}

/// Why a runtime could not be built.
///
/// ```
/// let error = millpond::Runtime::builder().workers(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "workers is 0, must be 1 to 4096");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A choice out of its range: its name, what was chosen, and the range.
    OutOfRange {
        /// The method of the builder.
        option: &'static str,
        /// What it was given.
        given: u64,
        /// What it takes.
        range: (u64, u64),
    },
    /// The system started no thread.
    Thread(io::Error),
    /// Dumps cannot be printed on this signal ([`Builder::dump_on_signal`]).
    Signal {
        /// The signal.
        signal: i32,
        /// Why not.
        error: io::Error,
    },
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::OutOfRange { option, given, range: (least, most) } => {
                write!(f, "{option} is {given}, must be {least} to {most}")
            }
            BuildError::Thread(error) => write!(f, "cannot start a worker thread: {error}"),
            BuildError::Signal { signal, error } => {
                write!(f, "cannot dump on signal {}: {error}", dumps::name_of(*signal))
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Thread(error) | BuildError::Signal { error, .. } => Some(error),
            BuildError::OutOfRange { .. } => None,
        }
    }
}

impl Builder {
    /// The most tasks in flight in one scope unless [`window`](Builder::window) says otherwise.
    pub const DEFAULT_WINDOW: usize = config::DEFAULT_WINDOW as usize;

    /// How many workers; by default as many processors as the affinity mask and the cgroup's quota allow. The caller
    /// of a scope is one of them. 1 to 4096.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let caller = std::thread::current().id();
    /// let worker = rt.scope(|s| s.wait(s.spawn((), |()| std::thread::current().id())))??;
    /// assert_eq!(worker, caller);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.config.workers = workers;
        self
    }

    /// The most tasks in flight in one scope (2048): a spawner that has that many outstanding runs tasks instead. A
    /// body that can run none of its own exceeds the bound. Once full, it is open again when a quarter is free, and
    /// a window full of short tasks is emptied first if the spawner finds them. At least 1.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::builder().window(1).build()?;
    /// rt.scope(|s| {
    ///     let first = s.nest((), |_, ()| ());
    ///     s.spawn((), |()| ());
    ///     assert!(first.is_done());
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn window(mut self, tasks: usize) -> Self {
        self.config.window = tasks as u64;
        self
    }

    /// The most bytes that the tasks in flight in one scope may hold, as far as they say
    /// ([`Task::bytes`](crate::Task::bytes)). By default there is no bound. A task that alone holds more runs alone.
    /// At least 1; hard or soft as [`window`](Builder::window).
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::builder().window_bytes(1000).build()?;
    /// rt.scope(|s| {
    ///     let first = s.task("load").bytes(600).nest((), |_, ()| ());
    ///     s.task("load").bytes(600).spawn((), |()| ());
    ///     assert!(first.is_done());
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn window_bytes(mut self, bytes: u64) -> Self {
        self.config.window_bytes = bytes;
        self
    }

    /// Runs commutative tasks in reference order and combines reductions in it, so that results are the same to the
    /// last bit in every run. Off by default: commutative tasks wait more, and the parts of a reduction are kept until
    /// it ends.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// let rt = Runtime::builder().deterministic(true).build()?;
    /// let log = Handle::new(Vec::new());
    /// rt.scope(|s| {
    ///     for n in 0..5 {
    ///         s.spawn(log.commutative(), move |log| log.push(n));
    ///     }
    /// })?;
    /// assert_eq!(log.into_inner()?, [0, 1, 2, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.config.deterministic = deterministic;
        self
    }

    /// What a worker does that finds no task; [`Idle::Hybrid`] by default.
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// Which ready leaves run at their spawn; [`Inline::Auto`] by default.
    pub fn inline(mut self, inline: Inline) -> Self {
        self.config.inline = inline;
        self
    }

    /// Binds each worker to one of the processors that the process may use. The caller of a scope is bound while the
    /// scope lasts. Off by default. Where there are more workers than processors, they share; a system that refuses
    /// leaves them where they are.
    pub fn pin(mut self, pin: bool) -> Self {
        self.config.pin = pin;
        self
    }

    /// Bytes reserved for the stack of each body that waits (2 MiB). Only what is touched costs memory. From 128 KiB to
    /// 1 TiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = bytes;
        self
    }

    /// Records by this recorder; by default each runtime has one of its own.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use millpond::record::Recorder;
    ///
    /// // Two runtimes in one recording.
    /// let recorder = Recorder::new();
    /// let builder = Runtime::builder().workers(1).recorder(&recorder);
    /// let (one, other) = (builder.clone().build()?, builder.build()?);
    /// # Ok::<(), millpond::BuildError>(())
    /// ```
    pub fn recorder(mut self, recorder: &Recorder) -> Self {
        self.config.recorder = Some(recorder.clone());
        self
    }

    /// Builds a runtime of the default parts.
    ///
    /// # Errors
    ///
    /// If a choice is out of its range, the system starts no thread, or a signal cannot be caught.
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_with()
    }

    /// Builds a runtime of the parts that the type names: `Runtime<M, P, D>`.
    ///
    /// ```
    /// use millpond::memory::slab::Slabs;
    /// use millpond::{DefaultPool, DefaultScheme, Runtime};
    ///
    /// let rt: Runtime<Slabs, DefaultPool, DefaultScheme> = Runtime::builder().workers(2).build_with()?;
    /// # assert_eq!(rt.workers(), 2);
    /// # Ok::<(), millpond::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`build`](Builder::build).
    pub fn build_with<M: Memory, P: Pool, D: Scheme>(self) -> Result<Runtime<M, P, D>, BuildError> {
        let config = self.checked()?;
        let shared = Shared::<Parts<M, P, D>>::new(config);
        let recording = shared.live().map(|live| shared.recorder.add(live.clone()));
        let signal = shared.config.dump_signal;
        let on_signal =
            signal.map(|signal| OnSignal::new(signal, &shared).map_err(|error| BuildError::Signal { signal, error }));
        let on_signal = on_signal.transpose()?;
        let threads = (1..shared.config.workers).map(|seat| start(&shared, seat)).collect::<Result<_, _>>();
        let threads = threads.map_err(|error| {
            shared.shut_down();
            BuildError::Thread(error)
        })?;
        let threads = Mutex::new(threads);
        let stand_in = Once::new();
        Ok(Runtime {
            inner: Arc::new(Inner { shared, threads, stand_in, _recording: recording, _on_signal: on_signal }),
        })
    }

    fn checked(mut self) -> Result<Config, BuildError> {
        let check = |option, given: u64, range: (u64, u64)| {
            if (range.0..=range.1).contains(&given) {
                Ok(())
            } else {
                Err(BuildError::OutOfRange { option, given, range })
            }
        };
        let config = &mut self.config;
        check("workers", config.workers as u64, (1, MOST_WORKERS as u64))?;
        check("window", config.window, (1, u64::MAX >> 16))?;
        check("window_bytes", config.window_bytes, (1, u64::MAX))?;
        check("stack_size", config.stack_size as u64, (LEAST_STACK as u64, 1 << 40))?;
        if let Some(signal) = config.dump_signal {
            if !dumps::can_be_taken(signal) {
                let error = io::Error::new(io::ErrorKind::InvalidInput, "no handler may take it");
                return Err(BuildError::Signal { signal, error });
            }
            config.dumps = true;
        }
        config.tally_batch = (config.window / (4 * config.workers as u64)).clamp(1, 16);
        Ok(self.config)
    }
}

/// Starts the worker thread of a seat.
fn start<E: Engine>(shared: &Arc<Shared<E>>, seat: usize) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    thread::Builder::new().name(format!("millpond-{seat}")).spawn(move || {
        if shared.config.pin {
            pin::worker(seat);
        }
        let worker = shared.worker(seat);
        let _entered = crate::worker::current::Enter::new(worker);
        worker.live();
    })
}

impl<E: Engine> Drop for Inner<E> {
    fn drop(&mut self) {
        self.shared.shut_down();
        let here = thread::current().id();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A worker that drops the last reference to its own runtime ends by itself.
            if thread.thread().id() != here {
                thread.join().expect("a worker thread catches what bodies throw");
            }
        }
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

impl<M: Memory, P: Pool, D: Scheme> Runtime<M, P, D> {
    fn shared(&self) -> &Arc<Shared<Parts<M, P, D>>> {
        &self.inner.shared
    }

    /// How many workers there are, the caller of a scope among them.
    pub fn workers(&self) -> usize {
        self.shared().config.workers
    }

    /// What each worker has done since the runtime was built; the first entry is that of all callers of scopes together,
    /// and of the thread that works in their place when there are sessions. Takes O(workers) and stops nobody: what is
    /// running meanwhile may count or not.
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

    /// The recorder of this runtime: gives what its tasks do to a [`Sink`](crate::record::Sink).
    pub fn recorder(&self) -> &Recorder {
        &self.shared().recorder
    }

    /// Opens a scope: `f` spawns tasks, which may borrow what outlives the call; `scope` returns when all are
    /// complete. The caller works meanwhile.
    ///
    /// While it waits, a caller may take up bodies of another caller's scope: it returns when those have ended too, and
    /// one of them that waits in its turn stands still while the closure does something else. So a closure that has
    /// waited for tasks must not wait for another caller by means of its own, a barrier or a channel. Nor may it wait so
    /// for a task that it has spawned: alone, it is the worker that would run it; and with others, the last one spawned
    /// may lie where only it looks. [`Spawn::wait`](crate::Spawn::wait) and its like are what a closure waits with.
    ///
    /// Any number of threads may call at the same time, and tasks may call, whatever runtime they are of. Five callers
    /// work together with the worker threads. Those beyond, until one of the five returns, run their tasks by
    /// themselves: nobody waits for anybody. A task that opens a scope on its own runtime is no new caller.
    ///
    /// # Errors
    ///
    /// The first failure in reference order; [`Kind::Cancelled`] if the scope was cancelled. The value of `f` is
    /// dropped then.
    ///
    /// # Panics
    ///
    /// If `f` panics, after all tasks are complete.
    #[track_caller]
    pub fn scope<'env, F, R>(&self, f: F) -> Result<R, Error>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, Parts<M, P, D>>) -> R,
    {
        let place = Location::caller();
        self.shared().enter(|worker| run_scope(worker, f, place))
    }

    /// Opens a session: a scope that borrows nothing, for async code.
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
    /// # Panics
    ///
    /// If the system starts no thread. The first session starts one more, which works in the place of the caller that
    /// a session does not have.
    #[track_caller]
    pub fn session(&self) -> Session<Parts<M, P, D>> {
        let place = Location::caller();
        self.inner.stand_in.call_once(|| {
            let thread = start(self.shared(), self.workers()).expect("the system starts a worker thread");
            self.inner.threads.lock().push(thread);
        });
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
    /// The first failure of a task, else what `f` returned.
    ///
    /// # Panics
    ///
    /// As [`scope`](Runtime::scope).
    #[track_caller]
    pub fn try_scope<'env, F, R, X>(&self, f: F) -> Result<R, X>
    where
        F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, Parts<M, P, D>>) -> Result<R, X>,
        X: From<Error>,
    {
        self.scope(f)?
    }
}

fn run_scope<'env, E: Engine, F, R>(worker: &Worker<E>, f: F, place: &'static Location<'static>) -> Result<R, Error>
where
    F: for<'s> FnOnce(&'s Scope<'s, 'env, Root, E>) -> R,
{
    let (cancels, claimant) = (Cancels::new(), Claimant::enter(true));
    let (before, record) = (worker.log.body(), worker.log.open(place));
    let domain = Domain::root(&cancels, &claimant, worker.seat().index(), record);
    // SAFETY: worker and domain outlive the scope, which is complete before they go. This thread holds the worker's seat
    // until then, and runs the closure.
    let scope = unsafe { Scope::<'_, 'env, Root, E>::new(worker, &domain) };
    let result = catch(|| f(&scope));
    if record != 0 {
        worker.log.ended(record, result.is_ok(), 0);
    }
    worker.end_scope(&domain);
    if record != 0 {
        worker.log.close(record, before);
    }
    let value = result.unwrap_or_else(|caught| caught.resume());
    match domain.first_failure() {
        Some(error) => Err(error),
        None if domain.is_cancelled() => Err(Error::new(Label::place(place), Kind::Cancelled)),
        None => Ok(value),
    }
}

impl<E: Engine> Worker<E> {
    /// The closure of a root scope has ended: waits for what is outstanding.
    pub(crate) fn end_scope(&self, domain: &Domain) {
        self.combine_open(domain);
        let waiter = Waiter::new(self.seat());
        if !domain.close(Some(&waiter)) {
            self.wait(&waiter, domain);
        }
    }
}
