//! The errors of a graph.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// A step of a collection: its collection and its tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepName {
    /// The step collection.
    pub step: String,
    /// The tag, as its `Debug` shows it.
    pub tag: String,
}

impl Display for StepName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.step, self.tag)
    }
}

/// An item: its collection and its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemName {
    /// The item collection.
    pub collection: String,
    /// The key, as its `Debug` shows it.
    pub key: String,
}

impl Display for ItemName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.collection, self.key)
    }
}

/// The origin of an item or a tag: a step, or the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The closure of the graph, or a thread outside it.
    Environment,
    /// A step.
    Step(StepName),
}

impl Display for By {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            By::Environment => f.write_str("the environment"),
            By::Step(step) => write!(f, "step {step}"),
        }
    }
}

/// Why a graph failed: the first error found. Its message is one line.
#[derive(Clone)]
pub struct Error(Arc<Kind>);

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &Kind {
        &self.0
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Error(Arc::new(kind))
    }
}

impl From<millpond::Error> for Error {
    fn from(error: millpond::Error) -> Self {
        Kind::Runtime(error).into()
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// What went wrong in a graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Kind {
    /// An item was put twice.
    #[error("item {item} was put twice: by {first}, and by {second}")]
    SecondPut {
        /// The item.
        item: ItemName,
        /// The origin of its value.
        first: By,
        /// The origin of the refused value.
        second: By,
    },
    /// Under [`Preconditions::Strict`](crate::Preconditions::Strict), a step got an undeclared
    /// item. If [gets are checked](crate::Settings::check_gets), any such get fails; otherwise it
    /// fails only if the item has not yet been put.
    #[error(
        "step {step} got item {item}, which it has not declared: under strict preconditions a step declares all that it gets"
    )]
    Undeclared {
        /// The step.
        step: StepName,
        /// The item that it got.
        item: ItemName,
    },
    /// Under [`Blocked::Replay`](crate::Blocked::Replay), a step had an effect before it got an
    /// item that had not yet been put. The effect is a put item or tag, or a used-up item. If the
    /// step ran again, it would repeat the effect. If [gets are
    /// checked](crate::Settings::check_gets), a get of any item that may be late fails.
    #[error(
        "step {step} got item {item}, which may be late, after it had {done}: a step that is replayed gets first, and puts and uses up afterwards"
    )]
    PutBeforeGet {
        /// The step.
        step: StepName,
        /// The item that it got.
        item: ItemName,
        /// Its first effect: `put item ..`, `put tag ..` or `used up item ..`, with collection and
        /// key.
        done: String,
    },
    /// A step asked whether an item exists. The answer depends on the order of steps.
    #[error(
        "step {step} looked for item {item} by `try_get`: whether that is there yet depends on the order of steps; a step awaits `get`"
    )]
    LookedInStep {
        /// The step.
        step: StepName,
        /// The item that it asked for.
        item: ItemName,
    },
    /// An item was got more often than its collection allows.
    #[error("item {item} is got {uses} times, and was got once more, by {by}")]
    UsedUp {
        /// The item.
        item: ItemName,
        /// The number of uses given by the collection.
        uses: u32,
        /// The origin of the surplus get.
        by: By,
    },
    /// A tag was put, but its collection prescribes no step collection.
    #[error("tag collection `{tags}` prescribes nothing, and tag {tag} is put by {by}")]
    NothingPrescribed {
        /// The tag collection.
        tags: String,
        /// The tag, as its `Debug` shows it.
        tag: String,
        /// The origin of the tag.
        by: By,
    },
    /// A tag collection cannot prescribe one more step collection.
    #[error(
        "tag collection `{tags}` prescribes {most} step collections already, and step collection `{step}` is one too many"
    )]
    TooManyPrescribed {
        /// The tag collection.
        tags: String,
        /// The refused step collection.
        step: String,
        /// The maximum number.
        most: usize,
    },
    /// A key is outside its collection's bounds.
    #[error("item {item} lies outside of the bounds {bounds}; asked for by {by}")]
    OutOfBounds {
        /// The item.
        item: ItemName,
        /// The declared bounds.
        bounds: String,
        /// The origin of the request.
        by: By,
    },
    /// A body panicked.
    #[error("step {step} panicked: {message}")]
    Panicked {
        /// The step.
        step: StepName,
        /// The panic's message.
        message: String,
    },
    /// A body returned an error.
    #[error("step {step} failed: {message}")]
    Failed {
        /// The step.
        step: StepName,
        /// The error.
        message: String,
    },
    /// Under [`Blocked::Fiber`](crate::Blocked::Fiber), a step had to wait and could not be
    /// suspended.
    #[error("step {step} cannot wait on its stack: {why}")]
    NotKept {
        /// The step.
        step: StepName,
        /// The reason.
        why: millpond::WaitError,
    },
    /// No step runs or is ready, and some wait.
    #[error("{0}")]
    Deadlock(Deadlock),
    /// A task of the graph failed for another reason.
    #[error(transparent)]
    Runtime(millpond::Error),
}

/// Steps waiting for items that no step will put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The steps, in order of name and tag.
    pub stuck: Vec<Stuck>,
    /// The items awaited by the environment.
    pub environment: Vec<ItemName>,
}

/// A waiting step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stuck {
    /// The step.
    pub step: StepName,
    /// Whether it has begun.
    pub blocked: bool,
    /// The awaited items.
    pub missing: Vec<Missing>,
}

/// A missing item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The item.
    pub item: ItemName,
    /// The step collections that have declared to put items of this collection.
    pub producers: Vec<String>,
}

/// The maximum number of steps named in a message, which counts the others.
const MAX_NAMED_STEPS: usize = 10;

impl Display for Deadlock {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.stuck.len(), self.environment.len()) {
            (0, _) => f.write_str("deadlock: the environment waits for items that no step puts")?,
            (1, _) => f.write_str("deadlock: 1 step waits for items that no step puts")?,
            (steps, _) => write!(f, "deadlock: {steps} steps wait for items that no step puts")?,
        }
        for item in &self.environment {
            write!(f, "; the environment waits for {item}")?;
        }
        for Stuck { step, blocked, missing } in self.stuck.iter().take(MAX_NAMED_STEPS) {
            let state = if *blocked { "blocked" } else { "prescribed" };
            write!(f, "; step {step}, {state}, waits for ")?;
            for (nth, Missing { item, producers }) in missing.iter().enumerate() {
                write!(f, "{}{item}", if nth == 0 { "" } else { ", " })?;
                if !producers.is_empty() {
                    write!(f, " (put by {})", producers.join(", "))?;
                }
            }
        }
        match self.stuck.len().saturating_sub(MAX_NAMED_STEPS) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
