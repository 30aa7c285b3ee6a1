//! The builder: the choices of a runtime, and what may be wrong with them.

use std::io;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Once};

use super::config::{self, Config, Inline, LEAST_STACK, MOST_STACK, MOST_WORKERS};
#[cfg(feature = "signal")]
use super::on_signal;
use super::session::OpenSessions;
use super::{Inner, Runtime, start, watchdog};
use crate::engine::{Choices, Engine};
use crate::handle::bound::Bound;
use crate::record::Recorder;
#[cfg(feature = "stack")]
use crate::stack::policy::End;
use crate::sync::Mutex;
use crate::worker::fiber;
use crate::worker::seats::Shared;
use crate::worker::sleep::Idle;

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
    pub(super) config: Config,
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
    /// A family has no member of this name (`catalogue::Registry`).
    NoSuch {
        /// What was to be chosen, in words.
        family: &'static str,
        /// What was asked for.
        given: String,
        /// What there is.
        valid: Vec<&'static str>,
    },
    /// The scheme `stack` has neither a pool nor a memory manager (`catalogue::Registry`).
    NotWithStack {
        /// What was to be chosen, in words.
        family: &'static str,
        /// Which one.
        name: String,
    },
    /// The system does not reserve a stack of this size for each worker ([`Builder::stack_size`]).
    Stack {
        /// The size.
        bytes: usize,
        /// How many workers there are to be.
        workers: usize,
        /// What the system said.
        error: io::Error,
    },
    /// The system started no thread.
    Thread(io::Error),
    /// Dumps cannot be printed on this signal ([`Builder::dump_on_signal`]).
    #[cfg(feature = "signal")]
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
            BuildError::NoSuch { family, given, valid } => {
                write!(f, "there is no {family} `{given}`; the {family}s are {}", valid.join(", "))
            }
            BuildError::NotWithStack { family, name } => {
                write!(
                    f,
                    "the {family} `{name}` cannot be used with the scheme `stack`, which has no pool and no memory manager"
                )
            }
            BuildError::Stack { bytes, workers, error } => {
                let each = if *workers == 1 { String::new() } else { format!(" for each of {workers} workers") };
                write!(f, "cannot reserve a stack of {bytes} bytes{each} (stack_size): {error}")
            }
            BuildError::Thread(error) => write!(f, "cannot start a worker thread: {error}"),
            #[cfg(feature = "signal")]
            BuildError::Signal { signal, error } => {
                write!(f, "cannot dump on signal {}: {error}", on_signal::name_of(*signal))
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Thread(error) | BuildError::Stack { error, .. } => Some(error),
            #[cfg(feature = "signal")]
            BuildError::Signal { error, .. } => Some(error),
            BuildError::OutOfRange { .. } | BuildError::NoSuch { .. } | BuildError::NotWithStack { .. } => None,
        }
    }
}

impl Builder {
    /// The most tasks in flight in one scope unless [`window`](Builder::window) says otherwise.
    pub const DEFAULT_WINDOW: usize = config::DEFAULT_WINDOW as usize;

    /// How many workers; by default as many processors as the affinity mask and the cgroup's quota allow. The caller
    /// of a scope is one of them. 1 to 4096.
    ///
    /// While a body waits, a spare thread works in the place of its thread. At most 4 spare threads for each worker are started, when
    /// they are first needed. They are not bound to a processor ([`pin`](Builder::pin)).
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

    /// The most tasks in flight in one scope (4096): a spawner that has that many outstanding runs tasks instead. A
    /// body that can run none of its own exceeds the bound. Once full, it is open again when a quarter is free, and
    /// a window full of short tasks is emptied first if the spawner finds them. While there is room, a spawner whose
    /// tasks have become so short that they would run at their spawn may first run such as it has queued. At least 1.
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
    /// The bytes of a task count from its spawn until it is complete. The runtime does not see what lives in a handle
    /// afterwards. So in a pipeline it is the task that uses the data *last* that says the bytes, and it leaves nothing behind: the
    /// handle is written anew for the next item, or the task takes the value out ([`std::mem::take`]). Or a parent
    /// ([`nest`](crate::Spawn::nest)) says the bytes, and owns the data ([`Spawn::handle`](crate::Spawn::handle)): it is complete
    /// when its children are. The most that is alive is this bound and two items: one that is loaded before the task behind it has
    /// room, and one that was used and stays until the next is written.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// // However fast `load` is, at most 12 buffers are alive.
    /// let rt = Runtime::builder().window_bytes(10 * 4096).build()?;
    /// let (buffer, total) = (Handle::unset(), Handle::new(0));
    /// rt.scope(|s| {
    ///     for n in 0..100_u8 {
    ///         s.task("load").spawn(buffer.write(), move |buffer| buffer.set(vec![n; 4096]));
    ///         s.task("use").bytes(4096).spawn((buffer.read(), total.inout()), |(buffer, total)| {
    ///             *total += buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    ///         });
    ///     }
    /// })?;
    /// assert_eq!(total.into_inner()?, 4950 * 4096);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn window_bytes(mut self, bytes: u64) -> Self {
        self.config.window_bytes = bytes;
        self
    }

    /// The most bytes that the versions made by renaming ([`Handle::write`](crate::Handle::write)) may take at any one
    /// time, in the whole runtime. A `write` whose version would be beyond it goes into the storage of the value in use,
    /// after the tasks that use it, as on an [in-place](crate::Handle::in_place) handle; the result is the same. 0 forbids
    /// renaming. By default there is no bound: a window of tasks has at most one version a `write`, and a handle one that
    /// is current.
    ///
    /// A version counts from the spawn of its `write` until its last use, and the current one until the next or the end of
    /// its handle, which may be that of another runtime by then. It takes the size of the value and 120 bytes, rounded up
    /// to a multiple of 64. What a value owns elsewhere, such as the elements of a `Vec`, is not seen.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// let rt = Runtime::builder().workers(1).rename_bytes(0).build()?;
    /// let frame = Handle::new(1);
    /// rt.scope(|s| {
    ///     let slow = s.nest(frame.read(), |s, frame| {
    ///         s.spawn(frame.read(), |frame| assert_eq!(*frame, 1));
    ///     });
    ///     let next = s.spawn(frame.write(), |frame| frame.set(2));
    ///     // With a version of its own it would have run at its spawn.
    ///     assert!(!next.is_done() && !slow.is_done());
    /// })?;
    /// assert_eq!(frame.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename_bytes(mut self, bytes: u64) -> Self {
        self.config.rename_bytes = bytes;
        self
    }

    /// Runs commutative tasks in reference order and combines reductions in it, so that results are the same to the
    /// last bit in every run, whatever the number of workers. Off by default: commutative tasks wait more, and the
    /// parts of a reduction are kept until it ends.
    ///
    /// Large parts are not kept ([`Reducer::LARGE`](crate::Reducer::LARGE)): neighbours are combined two by two, as
    /// soon as both are there. The shape of that tree follows from the number of tasks, so its result is the same in
    /// every run too; the last bits of a floating-point sum need not be those of a serial loop.
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

    /// For the [`StackEngine`](crate::StackEngine): at which end of a stack a thief begins to look;
    /// [`End::Oldest`] by default. It changes how often is stolen, never the result. Cargo feature `stack`.
    ///
    /// ```
    /// use millpond::stack::policy::End;
    /// use millpond::{Runtime, Spawn, StackEngine};
    ///
    /// let builder = Runtime::builder().workers(2).steal_from(End::Newest);
    /// let rt: Runtime<StackEngine> = builder.build_with()?;
    /// assert_eq!(rt.scope(|s| s.wait(s.spawn((), |()| 42)))??, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "stack")]
    pub fn steal_from(mut self, end: End) -> Self {
        self.config.steal_from = end;
        self
    }

    /// Which ready leaves run at their spawn; [`Inline::Auto`] by default.
    pub fn inline(mut self, inline: Inline) -> Self {
        self.config.inline = inline;
        self
    }

    /// Binds each worker to one of the processors that the process may use. The caller of a scope is bound from the end of its
    /// closure to the end of the scope. Off by default. Where there are more workers than processors, they share; a system that
    /// refuses leaves them where they are.
    ///
    /// A runtime that is built in a body may use what the process may use. A thread that a body makes itself starts on the
    /// processor of the worker, as the system has it.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::builder().pin(true).build()?;
    /// let workers = rt.scope(|s| s.wait(s.spawn((), |()| Runtime::new().map(|inner| inner.workers()))))???;
    /// assert_eq!(workers, Runtime::new()?.workers());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pin(mut self, pin: bool) -> Self {
        self.config.pin = pin;
        self
    }

    /// Bytes reserved for the stack of each body (2 MiB; 4 MiB with debug assertions). Only what is touched costs memory. From 128 KiB to
    /// 1 GiB. [`build`](Builder::build) fails if the system does not reserve one such stack for each worker.
    ///
    /// The bodies of tasks run on such stacks: all of them, on worker threads as on the threads that call
    /// [`scope`](crate::Runtime::scope). The closure of a scope, and leaves that run at their spawn there, run on the stack of
    /// the caller's thread. A task's closure is moved to the stack before it is called, so it needs room there beside what
    /// its body needs, as what it returns does. With optimization that is up to three times the size; without, up to 60 times.
    /// A closure of 1 MB or more does not fit: box what it captures.
    ///
    /// A body that overflows its stack ends the process, as an overflow of a thread's stack does. The error output then says
    /// which task it was, and how large the stack was (not under a sanitizer). A leaf that runs at its spawn counts as part of the
    /// body that has spawned it, and the half of a `join` that another thread runs has no name.
    ///
    /// Each body that waits keeps one stack. Linux allows 65,530 mappings in a process (`vm.max_map_count`), and a stack takes
    /// two. If there is no other stack, [`wait`](crate::Spawn::wait) and [`wait_on`](crate::Spawn::wait_on) fail with
    /// [`Kind::NoStack`](crate::Kind::NoStack), and [`block_on`](crate::Spawn::block_on) panics.
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
    /// If a choice is out of its range, the system reserves no stacks or starts no thread, or a signal cannot be caught.
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_with()
    }

    /// Builds a runtime of the engine that the type names: `Runtime<E>`.
    ///
    /// ```
    /// use millpond::depend::list::List;
    /// use millpond::{DefaultMemory, DefaultPool, Parts, Runtime};
    ///
    /// let rt: Runtime<Parts<DefaultMemory, DefaultPool, List>> = Runtime::builder().workers(2).build_with()?;
    /// # assert_eq!(rt.workers(), 2);
    /// # Ok::<(), millpond::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`build`](Builder::build).
    pub fn build_with<E: Engine>(self) -> Result<Runtime<E>, BuildError> {
        self.build_of(Choices::default())
    }

    /// As [`build_with`](Builder::build_with), with what the types leave to choose.
    pub(crate) fn build_of<E: Engine>(self, choices: Choices<E>) -> Result<Runtime<E>, BuildError> {
        let config = self.checked()?;
        let shared = Shared::<E>::new(config, choices);
        let recording = shared.live().map(|live| shared.recorder.add(live.clone()));
        #[cfg(feature = "signal")]
        let on_signal = on_signal::begin(&shared)?;
        let watchdog = watchdog::begin(&shared)?;
        let threads = (1..shared.config.workers).map(|seat| start(&shared, seat)).collect::<Result<_, _>>();
        let threads = threads.map_err(|error| {
            shared.shut_down();
            BuildError::Thread(error)
        })?;
        let threads = Mutex::new(threads);
        let stand_in = Once::new();
        Ok(Runtime {
            inner: ManuallyDrop::new(Arc::new(Inner {
                #[cfg(feature = "signal")]
                _on_signal: on_signal,
                _watchdog: watchdog,
                shared,
                threads,
                stand_in,
                sessions: OpenSessions::default(),
                _recording: recording,
            })),
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
        check("stack_size", config.stack_size as u64, (LEAST_STACK as u64, MOST_STACK as u64))?;
        let (workers, bytes) = (config.workers, config.stack_size);
        fiber::try_stacks(workers, bytes).map_err(|error| BuildError::Stack { bytes, workers, error })?;
        #[cfg(feature = "signal")]
        {
            on_signal::check(config.dump_signal)?;
            config.dumps |= config.dump_signal.is_some();
        }
        if let Some(after) = config.watchdog {
            let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            check("watchdog (in milliseconds)", after, (1, u64::MAX >> 16))?;
            config.dumps = true;
            config.watch = Some(Arc::default());
        }
        if config.workers == 1 {
            config.inline = config.inline.alone();
        }
        config.renames = (config.rename_bytes != u64::MAX).then(|| Arc::new(Bound::new(config.rename_bytes)));
        config.tally_batch = (config.window / (4 * config.workers as u64)).clamp(1, 16);
        Ok(self.config)
    }
}
