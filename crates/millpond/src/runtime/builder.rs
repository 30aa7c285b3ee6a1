//! The builder: the choices of a runtime, and the errors in them.

use std::io;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Once};

#[cfg(feature = "signal")]
use super::on_signal;
use super::session::OpenSessions;
use super::{Inner, Runtime, watchdog};
use crate::handle::bound::Bound;
use crate::record::Recorder;
use crate::runtime::engine::Engine;
use crate::sync::Mutex;
use crate::worker::config::{self, Config, Inline, LEAST_STACK, MOST_STACK, MOST_WORKERS};
#[cfg(feature = "stack")]
use crate::worker::config::{End, Theft};
use crate::worker::engine::Choices;
use crate::worker::fiber;
use crate::worker::seats::Shared;
use crate::worker::sleep::Idle;
use crate::worker::threads;

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
    /// A choice out of its range.
    OutOfRange {
        /// The method of the builder.
        option: &'static str,
        /// The given value.
        given: u64,
        /// The valid range.
        range: (u64, u64),
    },
    /// A family has no member of this name (`catalogue::Registry`).
    NoSuch {
        /// The family, in words.
        family: &'static str,
        /// The name that was asked for.
        given: String,
        /// The valid names.
        valid: Vec<&'static str>,
    },
    /// The scheme `stack` has neither a pool nor a memory manager (`catalogue::Registry`).
    NotWithStack {
        /// The family, in words.
        family: &'static str,
        /// The name of its member.
        name: String,
    },
    /// The system cannot reserve a stack of this size for each worker ([`Builder::stack_size`]).
    Stack {
        /// The size.
        bytes: usize,
        /// The number of workers.
        workers: usize,
        /// The system's error.
        error: io::Error,
    },
    /// The system started no thread.
    Thread(io::Error),
    /// Dumps cannot be printed on this signal ([`Builder::dump_on_signal`]).
    #[cfg(feature = "signal")]
    Signal {
        /// The signal.
        signal: i32,
        /// The reason.
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
    /// The default of [`window`](Builder::window): the most tasks in flight in one scope.
    pub const DEFAULT_WINDOW: usize = config::DEFAULT_WINDOW as usize;

    /// The number of workers, 1 to 4096. The caller of a scope is one of them. The default is the
    /// number of processors that the affinity mask and the cgroup's quota allow.
    ///
    /// While a body waits, a spare thread works in place of its thread. At most 4 spare threads per
    /// worker are started, each when it is first needed. They are not bound to a processor
    /// ([`pin`](Builder::pin)).
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

    /// The most tasks in flight in one scope, at least 1. The default is 4096.
    ///
    /// If the window is full, the spawner runs tasks, or waits, until a quarter is free. A body
    /// that can run none of its own tasks exceeds the limit. If the window is full of short tasks,
    /// the spawner runs all of them that it finds.
    ///
    /// If tasks become so short that they would run at their spawn, the spawner may run queued
    /// tasks first, even if the window has room.
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

    /// The most bytes that the tasks in flight in one scope may declare
    /// ([`Task::bytes`](crate::Task::bytes)). By default there is no limit; the limit 0
    /// is invalid. A task that declares more than the limit runs alone. The limit is hard or soft
    /// like [`window`](Builder::window).
    ///
    /// *Bounded* is the sum of the declared bytes of unfinished tasks. The bytes of a task count
    /// from its spawn until it is complete.
    ///
    /// *Not bounded* is what the handles hold: a value that a complete task left there does not
    /// count, whatever the task declared. So `.bytes` on the producing task does not bound the
    /// memory. In a pipeline, declare the bytes on the *last* user of the data. That task should
    /// take the value out ([`std::mem::take`]), or the next item should overwrite it.
    ///
    /// Alternatively, let a parent ([`nest`](crate::Spawn::nest)) declare the bytes and own the
    /// data ([`Spawn::handle`](crate::Spawn::handle)). It is complete when its children are.
    ///
    /// In such a pipeline at most this limit plus two items are alive. One item is loaded before
    /// its task has room. The other was used and stays until it is overwritten. An item above the
    /// limit counts in place of the limit.
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
    pub fn window_bytes(mut self, bytes: usize) -> Self {
        self.config.window_bytes = bytes as u64;
        self
    }

    /// The most bytes that versions made by renaming ([`Handle::write`](crate::Handle::write)) may
    /// take in the whole runtime. 0 forbids renaming. By default there is no limit: a window of
    /// tasks has at most one version per `write`, and a handle has one current version.
    ///
    /// A `write` that would exceed the limit waits for the tasks that use the value, then reuses
    /// its storage. The result is the same. See [in-place](crate::Handle::in_place) handles.
    ///
    /// A version counts from the spawn of its `write` until its last use. The current version
    /// counts until the next one is made or its handle is dropped, even if the handle is then used
    /// in another runtime. A version takes the size of the value plus 120 bytes, rounded up to a
    /// multiple of 64. Heap memory of the value, such as the elements of a `Vec`, is not counted.
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

    /// Makes results bitwise the same in every run, for any number of workers. Off by default,
    /// because it costs time and memory: commutative tasks run in reference order, so they wait
    /// more. A reduction keeps its parts until its last task has finished, then combines them in
    /// reference order.
    ///
    /// [Large](crate::Reducer::LARGE) parts are not kept. They are combined in pairs: the first and
    /// the second part, the third and the fourth, then the results. Each pair is combined as soon
    /// as both operands exist. This tree depends only on the number of tasks. The last bits of a
    /// floating-point sum may differ from a serial loop's, with large and small parts.
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

    /// What a worker does if it finds no task. The default is [`Idle::ByPool`]: under the default
    /// pool, that is [`Idle::Hybrid`]. A pool that waits busily (`dq10`) ignores this.
    pub fn idle(mut self, idle: Idle) -> Self {
        self.config.idle = idle;
        self
    }

    /// The end of a stack at which a thief begins its scan, for the
    /// [`StackEngine`](crate::StackEngine). The default is [`End::Oldest`]. It affects how often
    /// tasks are stolen, never the result. Needs the Cargo feature `stack`.
    ///
    /// ```
    /// use millpond::stack::End;
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

    /// How thieves choose their victims and how many closures they take at once, for the
    /// [`StackEngine`](crate::StackEngine). The default is [`Theft::Chains`]. It affects how often
    /// tasks are stolen, never the result. Needs the Cargo feature `stack`.
    ///
    /// ```
    /// use millpond::stack::Theft;
    /// use millpond::{Runtime, Spawn, StackEngine};
    ///
    /// let builder = Runtime::builder().workers(2).theft(Theft::Paper);
    /// let rt: Runtime<StackEngine> = builder.build_with()?;
    /// rt.scope(|s| (0..100).for_each(|_| drop(s.spawn((), |()| ()))))?;
    /// // No theft takes several tasks.
    /// assert!(rt.counts().iter().all(|worker| worker.steals <= worker.thefts));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "stack")]
    pub fn theft(mut self, theft: Theft) -> Self {
        self.config.theft = theft;
        self
    }

    /// Which ready leaves run at their spawn. The default is [`Inline::Auto`].
    pub fn inline(mut self, inline: Inline) -> Self {
        self.config.inline = inline;
        self
    }

    /// Runs each ready leaf at its spawn as a task. The scheme issues its accesses, the body runs
    /// at once, and the scheme releases them. The task has a block, and does not go through the
    /// pool. [TG](crate#sources) §5.1 measures this path. It replaces the rule of
    /// [`inline`](Builder::inline), by which the scheme does not see such a leaf.
    ///
    /// For measurements only: it costs more, and gives the same result. On a dataflow stack it acts
    /// like [`Inline::Never`].
    #[doc(hidden)]
    pub fn issue_inline(mut self, issue: bool) -> Self {
        self.config.issue_inline = issue;
        self
    }

    /// Binds each worker to one of the processors that the process may use. Off by default.
    ///
    /// The caller of a scope is bound from the end of its closure to the end of the scope. If there
    /// are more workers than processors, they share processors. If the system refuses, the workers
    /// stay unbound.
    ///
    /// A runtime built in a body may use all processors of the process. A thread that a body
    /// creates itself starts on the worker's processor, because the system inherits the binding.
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

    /// The bytes reserved for the stack of each body, from 128 KiB to 1 GiB. The default is 2 MiB,
    /// and 4 MiB with debug assertions. Only touched pages cost memory. [`build`](Builder::build)
    /// fails if the system cannot reserve one such stack for each worker.
    ///
    /// All bodies of tasks run on such stacks, on worker threads and on threads that call
    /// [`scope`](crate::Runtime::scope). There are two exceptions: a scope's closure, and the
    /// leaves that run at their spawn in it, run on the stack of the caller's thread.
    ///
    /// A task's closure is moved to the stack before it is called. So the stack also needs room for
    /// the closure and the returned value: up to three times their size with optimization, up to 60
    /// times without. A closure of 1 MB or more does not fit: box its captures.
    ///
    /// A body that overflows its stack ends the process, like an overflow of a thread's stack. The
    /// error output then names the task and the size of the stack (not under a sanitizer). A leaf
    /// that runs at its spawn counts as part of the body that spawned it. The half of a `join` that
    /// another thread runs has no name.
    ///
    /// Each waiting body keeps one stack. Linux allows 65,530 mappings in a process
    /// (`vm.max_map_count`), and a stack takes two. If no stack is left,
    /// [`wait`](crate::Spawn::wait) and [`wait_on`](crate::Spawn::wait_on) fail with
    /// [`Kind::NoStack`](crate::Kind::NoStack), and [`block_on`](crate::Spawn::block_on) panics.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.config.stack_size = bytes;
        self
    }

    /// Sets the recorder. By default each runtime has its own.
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
    /// If a choice is out of its range, the system cannot reserve the stacks or start a thread, or
    /// a signal cannot be caught.
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_with()
    }

    /// Builds a runtime with the engine of the type `Runtime<E>`.
    ///
    /// ```
    /// use millpond::depend::List;
    /// use millpond::{DefaultMemory, DefaultPool, Parts, Runtime};
    ///
    /// let rt: Runtime<Parts<DefaultMemory, DefaultPool, List>> = Runtime::builder().workers(2).build_with()?;
    /// # assert_eq!(rt.workers(), 2);
    /// # Ok::<(), millpond::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`build`](Builder::build).
    pub fn build_with<E: Engine>(self) -> Result<Runtime<E>, BuildError> {
        self.build_of(Choices::default())
    }

    /// Like [`build_with`](Builder::build_with), with the choices left open by the types.
    pub(crate) fn build_of<E: Engine>(self, choices: Choices<E>) -> Result<Runtime<E>, BuildError> {
        let config = self.checked()?;
        let shared = Shared::<E>::new(config, choices);
        let recording = shared.live().map(|live| shared.recorder.add(live.clone()));
        #[cfg(feature = "signal")]
        let on_signal = on_signal::begin(&shared)?;
        let watchdog = watchdog::begin(&shared)?;
        let threads =
            (1..shared.config.workers).map(|seat| threads::start_worker(&shared, seat)).collect::<Result<_, _>>();
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
        if config.issue_inline {
            config.inline = Inline::Never;
        } else if config.workers == 1 {
            config.inline = config.inline.alone();
        }
        config.renames = (config.rename_bytes != u64::MAX).then(|| Arc::new(Bound::new(config.rename_bytes)));
        config.tally_batch = (config.window / (4 * config.workers as u64)).clamp(1, 16);
        Ok(self.config)
    }
}
