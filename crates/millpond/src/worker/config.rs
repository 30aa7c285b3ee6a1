//! The choices of a builder.

use std::sync::Arc;
use std::time::Duration;

use super::pin;
use super::watched::Watch;
use crate::handle::bound::Bound;
use crate::record::Recorder;
use crate::worker::sleep::Idle;

/// When a leaf that is ready at its spawn runs at once instead of through the pool
/// ([TG](crate#sources) §5.1).
///
/// It changes when a leaf runs, never the result. Parents and the tasks of a session always go
/// through the pool. On the dataflow stack, only portable tasks (of `millpond-dist`) run at their
/// spawn, including parents with all their descendants.
///
/// ```
/// use millpond::{Inline, Runtime, Spawn};
///
/// for (inline, at_once) in [(Inline::Auto, true), (Inline::Never, false), (Inline::Always, true)] {
///     let rt = Runtime::builder().workers(1).inline(inline).build()?;
///     rt.scope(|s| assert_eq!(s.spawn((), |()| ()).is_done(), at_once))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inline {
    /// At once if there is no other worker, or if the leaf's kind (its closure) is short: its
    /// recent bodies took less than 100 ns, and 20 ns for each access. Each worker measures one
    /// body in 61 of a short kind, and one in 17 of others. The maximum counts, and decays slowly.
    /// A new kind is not short.
    ///
    /// On the dataflow stack, for portable tasks only: at once if there is no other worker. With
    /// several workers, the bodies at the parent's depth must take at most about 100 µs on average,
    /// with all that they spawn, and no thief may ask for work.
    #[default]
    Auto,
    /// Never: every task goes through the pool.
    Never,
    /// Whenever the leaf is ready.
    Always,
}

impl Inline {
    /// The rule if there is only one worker: no other worker could take a task.
    pub(crate) fn alone(self) -> Self {
        if self == Inline::Auto { Inline::Always } else { self }
    }
}

#[cfg(feature = "stack")]
/// The end of a victim's stack where a thief begins its scan.
///
/// The paper says both: a thief steals a closure *from the bottom* (§2), and it scans stacks *from
/// their top* (§4). The oldest closures hold the most work, so a thief that takes them rarely comes
/// back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The oldest frame comes first.
    #[default]
    Oldest,
    /// The youngest frame comes first.
    Newest,
}

#[cfg(feature = "stack")]
/// How a thief of a dataflow stack chooses its victim, and how many closures it takes at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theft {
    /// A thief tries the stack of its last theft first, and then all others, from a random one on.
    /// If its earlier stolen leaves were short, it takes several closures at once: as many as last
    /// for 100 µs, at most 128. They may be a chain, in which each waits for the one before it. The
    /// thief leaves the next closures to the owner, because the owner would soon reach them.
    #[default]
    Chains,
    /// As in the paper ([DDS](crate#sources) §2 to §4): a thief draws each victim at random, all
    /// stacks with the same probability. It takes one closure, the first ready one that it finds.
    Paper,
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) window: u64,
    pub(crate) window_bytes: u64,
    /// The most bytes of renamed versions; `u64::MAX` means no limit.
    pub(crate) rename_bytes: u64,
    /// That limit and its current use, if there is one. The runtime and its caller contexts share
    /// it.
    pub(crate) renames: Option<Arc<Bound>>,
    pub(crate) deterministic: bool,
    pub(crate) idle: Idle,
    pub(crate) inline: Inline,
    /// Whether a ready leaf runs at its spawn as a task that the scheme issues and releases. Then
    /// `inline` is `Never`, because no leaf runs without a task.
    pub(crate) issue_inline: bool,
    #[cfg(feature = "stack")]
    pub(crate) steal_from: End,
    #[cfg(feature = "stack")]
    pub(crate) theft: Theft,
    pub(crate) pin: bool,
    pub(crate) stack_size: usize,
    /// How many completions a worker collects before it counts them.
    pub(crate) tally_batch: u64,
    /// Whether the runtime tracks unfinished tasks.
    pub(crate) dumps: bool,
    /// Reports bodies that occupy a worker for this long.
    pub(crate) watchdog: Option<Duration>,
    pub(crate) watch: Option<Arc<Watch>>,
    /// The signal that prints dumps.
    #[cfg(feature = "signal")]
    pub(crate) dump_signal: Option<i32>,
    /// The builder's recorder; `None`: its own one.
    pub(crate) recorder: Option<Recorder>,
    /// Whether this is a caller context, which has no worker of its own.
    pub(crate) caller_context: bool,
}

/// The default limit of tasks in flight in one scope: enough to find parallelism, few enough for
/// the second-level cache.
pub(crate) const DEFAULT_WINDOW: u64 = 4096;
/// The default size of a body's stack. Only touched pages cost memory. Without optimization, a
/// closure may be on it 60 times, because each move copies it.
pub(crate) const DEFAULT_STACK: usize = if cfg!(debug_assertions) { 4 << 20 } else { 2 << 20 };
/// The smallest stack: a smaller one could not run a body on top of a waiting one.
pub(crate) const LEAST_STACK: usize = 128 << 10;
/// The largest stack: only a very deep recursion needs more than the default.
pub(crate) const MOST_STACK: usize = 1 << 30;
/// The most workers: more is surely a mistake.
pub(crate) const MOST_WORKERS: usize = 4096;

impl Default for Config {
    fn default() -> Self {
        Config {
            workers: default_workers(),
            window: DEFAULT_WINDOW,
            window_bytes: u64::MAX,
            rename_bytes: u64::MAX,
            renames: None,
            deterministic: false,
            idle: Idle::default(),
            inline: Inline::default(),
            issue_inline: false,
            #[cfg(feature = "stack")]
            steal_from: End::default(),
            #[cfg(feature = "stack")]
            theft: Theft::default(),
            pin: false,
            stack_size: DEFAULT_STACK,
            tally_batch: 16,
            dumps: false,
            watchdog: None,
            watch: None,
            #[cfg(feature = "signal")]
            dump_signal: None,
            recorder: None,
            caller_context: false,
        }
    }
}

/// One worker per processor that the process may use: std honours the affinity mask and the
/// cgroup's quota.
pub(crate) fn default_workers() -> usize {
    pin::parallelism()
}
