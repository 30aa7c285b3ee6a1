//! What a builder chooses.

use std::sync::Arc;
use std::time::Duration;

use super::watchdog::Watch;
use crate::handle::bound::Bound;
use crate::record::Recorder;
#[cfg(feature = "stack")]
use crate::stack::policy::End;
use crate::worker::sleep::Idle;

/// When a leaf that is ready at its spawn runs there and then, instead of through the pool ([TG](crate#sources) §5.1).
///
/// It changes when a leaf runs, never the result. Parents always go through the pool, and so do the tasks of a session; but on the
/// dataflow stack portable tasks (of `millpond-dist`), parents with all that they spawn too, run at their spawn by these rules.
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
    /// If its kind (its closure) has shown short bodies only, or if there is no other worker. On the dataflow stack, if the bodies of
    /// its level have shown to be short and nobody asks for work, or if there is no other worker.
    #[default]
    Auto,
    /// Never: every task goes through the pool.
    Never,
    /// Whenever it is ready.
    Always,
}

impl Inline {
    /// The rule for a worker beside whom there is no other, who has nobody to hand a task to.
    pub(crate) fn alone(self) -> Self {
        if self == Inline::Auto { Inline::Always } else { self }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) window: u64,
    pub(crate) window_bytes: u64,
    /// The most bytes of renamed versions; `u64::MAX` is no bound.
    pub(crate) rename_bytes: u64,
    /// That bound, and what counts towards it, if there is one: the runtime's, and its caller contexts'.
    pub(crate) renames: Option<Arc<Bound>>,
    pub(crate) deterministic: bool,
    pub(crate) idle: Idle,
    pub(crate) inline: Inline,
    #[cfg(feature = "stack")]
    pub(crate) steal_from: End,
    pub(crate) pin: bool,
    pub(crate) stack_size: usize,
    /// Completions that a worker collects before it counts them.
    pub(crate) tally_batch: u64,
    /// Whether the runtime keeps account of unfinished tasks.
    pub(crate) dumps: bool,
    /// Tells of bodies that keep a worker for so long.
    pub(crate) watchdog: Option<Duration>,
    pub(crate) watch: Option<Arc<Watch>>,
    /// Prints them.
    #[cfg(feature = "signal")]
    pub(crate) dump_signal: Option<i32>,
    /// Of its own unless the builder was given one.
    pub(crate) recorder: Option<Recorder>,
    /// Whether this is a caller context, which has no worker of its own.
    pub(crate) caller_context: bool,
}

/// Tasks in flight in one scope unless the builder says otherwise: enough to look far ahead, few enough for the
/// second-level cache.
pub(crate) const DEFAULT_WINDOW: u64 = 4096;
/// Reserved for the stack of a body that may wait; only what is touched costs memory.
/// Without optimization a closure may be on it 60 times, each time it is moved.
pub(crate) const DEFAULT_STACK: usize = if cfg!(debug_assertions) { 4 << 20 } else { 2 << 20 };
/// Less could not run a body on top of a waiting one.
pub(crate) const LEAST_STACK: usize = 128 << 10;
/// The largest stack: only a body that recurses very deeply needs more than the default.
pub(crate) const MOST_STACK: usize = 1 << 30;
/// More is surely a mistake.
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
            #[cfg(feature = "stack")]
            steal_from: End::default(),
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

/// As many workers as the process may use processors: std honours the affinity mask and the cgroup's quota.
pub(crate) fn default_workers() -> usize {
    super::pin::parallelism()
}
