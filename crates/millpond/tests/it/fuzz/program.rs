//! Life cycle programs: several threads that use runtimes, sessions, scopes, and values from these.
//!
//! *Actors* are threads that open, spawn, wait and end. *Hands* are threads that never wait: they
//! satisfy preconditions, wake futures and drop joins, in any order and with any delay. A waiting
//! task waits for hands or for tasks of sessions. So each task ends, whatever the actors do, and no
//! program may hang.

use std::fmt;

use millpond::catalogue::{AnyRuntime, Names};
use millpond::stack::Theft;
use millpond::{Builder, Idle, Inline, Runtime};

/// A runtime of the program.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub workers: usize,
    pub window: usize,
    pub inline: Inline,
    pub idle: Idle,
    pub stack_size: usize,
    pub theft: Theft,
    pub deterministic: bool,
    pub dumps: bool,
    pub names: Names<'static>,
}

impl Config {
    pub fn build(&self) -> AnyRuntime {
        let builder: Builder = Runtime::builder()
            .workers(self.workers)
            .window(self.window)
            .inline(self.inline)
            .idle(self.idle)
            .stack_size(self.stack_size)
            .theft(self.theft)
            .deterministic(self.deterministic)
            .dumps(self.dumps);
        AnyRuntime::build(builder, self.names).expect("every choice is in its range")
    }
}

#[derive(Clone, Debug)]
pub struct Program {
    pub seed: u64,
    pub runtimes: Vec<Config>,
    /// The steps of each actor.
    pub actors: Vec<Vec<Step>>,
    pub hands: usize,
    /// Whether idle callers take all seats of the first runtime, so that other callers get caller
    /// contexts.
    pub sitters: bool,
    /// The outcomes of sessions and scopes, by number.
    pub domains: Vec<Domain>,
    /// The number of each kind.
    pub joins: usize,
    pub signals: usize,
    pub items: Vec<Item>,
    pub handles: usize,
    pub tasks: usize,
}

/// What is known of a session or a scope before it runs.
#[derive(Clone, Debug, Default)]
pub struct Domain {
    pub runtime: usize,
    /// It may be cancelled at any time: by a token, the end of a session, or the end of its
    /// runtime. So no outcome is certain.
    pub cancels: bool,
    /// A session that keeps its runtime until it has ended.
    pub keeps: bool,
    /// A session that several actors use at the same time.
    pub shared: bool,
    /// It may return a failure.
    pub may_fail: bool,
    /// It returns a failure.
    pub must_fail: bool,
    /// The final value of the number, if it is known.
    pub number: Option<u64>,
    /// The drops of its object's versions panic.
    pub bombs: bool,
    /// Its data are forgotten at the end, and not dropped.
    pub forgets: bool,
    /// The closure panics at its end.
    pub panics: bool,
}

/// A counted item. Hands read its value and use it.
#[derive(Clone, Debug)]
pub struct Item {
    pub uses: Vec<Use>,
    pub looks: usize,
    /// How often a waiter gives up and continues without it.
    pub releases: usize,
    pub bomb: bool,
}

/// How a use of an item ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Use {
    Dropped,
    Taken,
    GivenBack,
    Forgotten,
}

/// The steps of an actor.
#[derive(Clone, Debug)]
pub enum Step {
    Pause(u32),
    /// Opens a session, and leaves it for the next actor.
    Open {
        session: usize,
    },
    /// Takes the session in its turn, and returns it. Uses a shared session at any time.
    Use {
        session: usize,
        turn: usize,
        what: InSession,
    },
    End {
        session: usize,
        turn: usize,
        how: End,
    },
    /// Ends a join of a session. If there is no join yet, it waits for one.
    Join {
        join: usize,
        how: Joined,
    },
    Scope {
        scope: usize,
        steps: Vec<Step>,
    },
    /// A step on the innermost open scope.
    Here(InScope),
    /// Spawns a task through a scope handle, if the handle exists.
    Knock(Knock),
    Dump {
        runtime: usize,
    },
    /// The actor drops its reference to the runtime. Others may keep theirs.
    Release {
        runtime: usize,
        how: Released,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Released {
    Dropped,
    ByAHand,
    Forgotten,
}

/// A step on a session or a scope, other than a spawn.
#[derive(Clone, Copy, Debug)]
pub enum Common {
    Set(u64),
    SetObject,
    /// Waits for the number.
    Look(Option<u64>),
    LookAtObject,
    /// A hand cancels it.
    Cancel {
        late: bool,
    },
    CancelOnFailure,
}

#[derive(Clone, Debug)]
pub enum InSession {
    /// Leaves the join for the step that takes it.
    Spawn {
        task: Task,
        join: usize,
        /// Takes a permit. The permit's future is polled this often before it is awaited.
        permit: Option<usize>,
        /// The step that ends the join cancels the task.
        cancelled: bool,
    },
    Reserve(Reserved),
    Common(Common),
}

/// The outcome of a wait for room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reserved {
    /// Polls the future this often, and drops it with the permit that it may contain.
    Polled(usize),
    /// Does not use the permit.
    Dropped,
    /// Does not use it, and another thread drops it.
    Elsewhere,
    /// Two waiters. One gives up, and the other continues to wait.
    OneOfTwo,
    /// Forgets the permit: the window is smaller by 1 from then on.
    Forgotten,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Polls this often, then waits for the end.
    Closed(usize),
    /// The actor awaits the end. (A body waits.)
    Awaited,
    /// A hand awaits it.
    AwaitedByAHand,
    /// Polls the future this often, and drops it.
    Polled(usize),
    /// The same on a hand.
    PolledByAHand(usize),
    Detached,
    Dropped,
    /// Including all its values.
    Forgotten,
}

impl End {
    /// Whether the earlier spawns run while the runtime exists.
    pub fn lets_run(self) -> bool {
        matches!(self, End::Closed(_) | End::Awaited | End::AwaitedByAHand | End::Detached)
    }
}

/// How a join ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Joined {
    Dropped,
    Forgotten,
    /// Waits for its value.
    Waited,
    /// Polls it this often, then drops it. A waker remains in the task.
    Polled(usize),
    /// A hand polls it, and drops it later.
    ByAHand(usize),
    /// A hand awaits it.
    AwaitedByAHand,
    /// Drops it when everything has ended.
    Late,
}

#[derive(Clone, Debug)]
pub enum InScope {
    /// The join ends now, or at the end of the closure.
    Spawn {
        task: Task,
        now: bool,
        how: Joined,
    },
    External(External),
    PassHandle(usize),
    /// Threads that spawn external tasks at the same time.
    Crowd {
        threads: usize,
        tasks: Vec<Task>,
    },
    Quiesce,
    /// Waits until the scope is quiet or a signal fires.
    QuiesceOr(usize),
    Common(Common),
}

/// An external task.
#[derive(Clone, Debug)]
pub struct External {
    pub kind: Through,
    pub task: Task,
    /// What it waits for after its start.
    pub waits: Vec<WaitsFor>,
    /// How its preconditions end.
    pub holds: Vec<Held>,
    /// Whether a hand or the actor drops its initial precondition.
    pub by_a_hand: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Through {
    Leaf,
    Parent,
    Future,
    /// A future that a leaf starts.
    FromALeaf,
    /// A leaf that waits in the middle of its body.
    InPlace,
}

/// A task that is spawned through a scope handle.
#[derive(Clone, Debug)]
pub struct Knock {
    pub handle: usize,
    /// A leaf, a future, or a leaf that starts or waits for a future.
    pub kind: Through,
    pub task: Task,
    pub signal: Option<usize>,
    /// It keeps the scope open until a hand drops the guard.
    pub stays: bool,
    /// A hand drops it, perhaps after everything has ended.
    pub by: By,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Actor,
    Hand,
    LateHand,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    Satisfied,
    Dropped,
    /// When the item is put.
    Item(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WaitsFor {
    Signal(usize, Fire),
    /// A join of a session.
    Join(usize),
    /// Polls the join once, and drops it.
    JoinOnce(usize),
    /// Leaves a waker with the signal, and continues.
    SignalOnce(usize, Fire),
    /// An item that will be put.
    Item(usize),
    /// Its own children.
    Children,
}

/// How a hand wakes the waiters of a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fire {
    Once,
    /// Wakes them once too early.
    Early,
    Twice,
    /// Wakes them again when everything has ended.
    Late,
    /// Also forgets the wakers.
    Forgetting,
    /// Drops the wakers: no thread wakes the future.
    Lost,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub id: usize,
    pub access: Access,
    /// The amount that it adds to the number, or its new value.
    pub by: u64,
    pub finds: Finds,
    pub fails: Fails,
    /// It runs exactly once.
    pub sure: bool,
    pub value: Value,
    pub deeds: Vec<Deed>,
    pub parent: Option<Parent>,
}

/// What is known of the number that a task reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finds {
    Anything,
    Exactly(u64),
    /// In a shared session: the additions of the actor itself.
    AtLeast(u64),
}

#[derive(Clone, Debug)]
pub struct Parent {
    pub children: Vec<Task>,
    pub waits: Vec<WaitsFor>,
}

/// The access of a task: one mode of the number or of the object of its session or scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    None,
    Read,
    Concurrent,
    Inout,
    Commutative,
    Reduce,
    Write,
    ReadObject,
    InoutObject,
    WriteObject,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fails {
    No,
    Panics,
    /// Its body returns an error.
    Returns,
    /// The drop of its captures panics.
    Bomb,
}

/// The result of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    None,
    Heap,
    /// It may leak.
    Light,
    /// Its drop panics.
    Bomb,
}

/// The operations of a body.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Pause(u32),
    /// Runs a join.
    Fork,
    /// Opens a scope on a runtime that the closure keeps.
    Scope {
        runtime: usize,
    },
    /// The same with a session.
    Session {
        runtime: usize,
    },
    /// Ends a join of a session. The closure keeps the join.
    Join {
        join: usize,
        how: Joined,
    },
    /// Ends a session. The closure keeps the session.
    End {
        session: usize,
        turn: usize,
        how: End,
    },
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, config) in self.runtimes.iter().enumerate() {
            writeln!(f, "runtime {i}: {config:?}")?;
        }
        writeln!(f, "{} hands, sitters: {}", self.hands, self.sitters)?;
        for (i, item) in self.items.iter().enumerate() {
            writeln!(f, "item {i}: {item:?}")?;
        }
        for (i, domain) in self.domains.iter().enumerate() {
            writeln!(f, "domain {i}: {domain:?}")?;
        }
        for (i, steps) in self.actors.iter().enumerate() {
            writeln!(f, "actor {i}:")?;
            show(f, steps, 1)?;
        }
        Ok(())
    }
}

fn show(f: &mut fmt::Formatter<'_>, steps: &[Step], depth: usize) -> fmt::Result {
    for step in steps {
        match step {
            Step::Scope { scope, steps } => {
                writeln!(f, "{:1$}scope {scope}:", "", 2 * depth)?;
                show(f, steps, depth + 1)?;
            }
            other => writeln!(f, "{:1$}{other:?}", "", 2 * depth)?,
        }
    }
    Ok(())
}
