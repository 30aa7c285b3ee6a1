//! Life cycle programs: what several threads do with runtimes, sessions, scopes and what comes of these.
//!
//! *Actors* are threads that open, spawn, wait and end. *Hands* are threads that never wait: they meet preconditions, wake
//! futures, drop joins and so on, in any order and with any delay. Every task that waits, waits for hands or for tasks of
//! sessions; so each task ends, whatever the actors do, and no program may hang.

use std::fmt;

use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Builder, Idle, Inline, Runtime};

/// A runtime of the program.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub workers: usize,
    pub window: usize,
    pub inline: Inline,
    pub idle: Idle,
    pub stack_size: usize,
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
            .deterministic(self.deterministic)
            .dumps(self.dumps);
        AnyRuntime::build(builder, self.names).expect("every choice is in its range")
    }
}

#[derive(Clone, Debug)]
pub struct Program {
    pub seed: u64,
    pub runtimes: Vec<Config>,
    /// What each actor does.
    pub actors: Vec<Vec<Step>>,
    pub hands: usize,
    /// Whether all seats of the first runtime are taken by callers that do nothing, so that others work in annexes.
    pub sitters: bool,
    /// What sessions and scopes come to, by their numbers.
    pub domains: Vec<Domain>,
    /// How many there are of each.
    pub joins: usize,
    pub signals: usize,
    pub items: Vec<Item>,
    pub gates: usize,
    pub tasks: usize,
}

/// What is known of a session or a scope before it runs.
#[derive(Clone, Debug, Default)]
pub struct Domain {
    pub runtime: usize,
    /// It may be cancelled at any time, so nothing is sure: a token cancels it, or a session's end, or the end of its runtime.
    pub cancels: bool,
    /// A session that keeps its runtime until it has ended.
    pub keeps: bool,
    /// A session that several actors use at the same time.
    pub shared: bool,
    /// It may return a failure.
    pub may_fail: bool,
    /// It returns a failure.
    pub must_fail: bool,
    /// The number's value in the end, if it is known.
    pub number: Option<u64>,
    /// Its object's versions fail when they are dropped.
    pub bombs: bool,
    /// Its data are forgotten in the end, and not dropped.
    pub forgets: bool,
    /// The closure panics at its end.
    pub panics: bool,
}

/// A counted item: hands look at its value and use it.
#[derive(Clone, Debug)]
pub struct Item {
    pub uses: Vec<Use>,
    pub looks: usize,
    /// How often who waits for it goes on without it.
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

/// What an actor does.
#[derive(Clone, Debug)]
pub enum Step {
    Pause(u32),
    /// Opens a session, and leaves it for the next.
    Open {
        session: usize,
    },
    /// Takes the session when its turn has come, and leaves it again; of a shared one, at any time.
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
    /// Ends a join of a session, which is there, or comes.
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
    /// Comes to a scope through its gate, if that is there.
    Knock(Knock),
    Dump {
        runtime: usize,
    },
    /// The actor drops the runtime, which others may still have.
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

/// A step on a session or a scope that is no spawn.
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
    /// The join is left for the step that takes it.
    Spawn {
        task: Task,
        join: usize,
        /// Through a permit, whose future is polled so often before it is awaited.
        permit: Option<usize>,
        /// The step that ends the join cancels the task.
        cancelled: bool,
    },
    Reserve(Reserved),
    Common(Common),
}

/// What becomes of a wait for room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reserved {
    /// The future is polled so often, and dropped with the permit that it may have given.
    Polled(usize),
    /// The permit is not used.
    Dropped,
    /// Nor here, and another thread drops it.
    Elsewhere,
    /// Two wait; one gives up, and the other goes on to wait.
    OneOfTwo,
    /// The window is smaller by one for good.
    Forgotten,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Its end is waited for, after so many polls.
    Closed(usize),
    /// The actor awaits the end. (A body waits.)
    Awaited,
    /// A hand awaits it.
    AwaitedByAHand,
    /// The future is polled so often, and dropped.
    Polled(usize),
    /// The same by a hand.
    PolledByAHand(usize),
    Detached,
    Dropped,
    /// With all that it has.
    Forgotten,
}

impl End {
    /// Whether what was spawned before it runs, as long as the runtime is there.
    pub fn lets_run(self) -> bool {
        matches!(self, End::Closed(_) | End::Awaited | End::AwaitedByAHand | End::Detached)
    }
}

/// How a join ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Joined {
    Dropped,
    Forgotten,
    /// Its value is waited for.
    Waited,
    /// It is polled so often, then dropped: a waker stays with the task.
    Polled(usize),
    /// A hand polls it, and drops it some time.
    ByAHand(usize),
    /// A hand awaits it.
    AwaitedByAHand,
    /// Dropped when everything has ended.
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
    Door(Door),
    Gate(usize),
    /// Threads that make tasks through the door at the same time.
    Crowd {
        threads: usize,
        tasks: Vec<Task>,
    },
    Quiesce,
    /// Until the scope is quiet or a signal comes.
    QuiesceOr(usize),
    Common(Common),
}

/// A task that comes through a door.
#[derive(Clone, Debug)]
pub struct Door {
    pub kind: Through,
    pub task: Task,
    /// What it waits for after it has started.
    pub waits: Vec<WaitsFor>,
    /// How its preconditions end.
    pub holds: Vec<Held>,
    /// Whether a hand drops what makes it start, or the actor.
    pub by_a_hand: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Through {
    Leaf,
    Parent,
    Future,
    /// A future that a leaf starts.
    FromALeaf,
    /// A leaf that waits in its middle.
    InPlace,
}

/// A task that comes through a gate.
#[derive(Clone, Debug)]
pub struct Knock {
    pub gate: usize,
    /// A leaf, a future, or what starts or waits for one.
    pub kind: Through,
    pub task: Task,
    pub signal: Option<usize>,
    /// It keeps the scope until a hand drops that.
    pub stays: bool,
    /// By a hand, perhaps when everything has ended.
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
    /// It polls the join once, and drops it.
    JoinOnce(usize),
    /// It leaves a waker with the signal, and goes on.
    SignalOnce(usize, Fire),
    /// An item, to be put.
    Item(usize),
    /// The tasks that it has spawned.
    Children,
}

/// How a hand wakes who waits for a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fire {
    Once,
    /// It wakes for nothing first.
    Early,
    Twice,
    /// Once more when everything has ended.
    Late,
    /// And forgets the wakers.
    Forgetting,
    /// Drops the wakers: no thread will wake the future.
    Lost,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub id: usize,
    pub access: Access,
    /// What it changes the number by, or to.
    pub by: u64,
    pub finds: Finds,
    pub fails: Fails,
    /// It runs, and once.
    pub sure: bool,
    pub value: Value,
    pub deeds: Vec<Deed>,
    pub parent: Option<Parent>,
}

/// What is known of the number that a task finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finds {
    Anything,
    Exactly(u64),
    /// Of a shared session: what the actor has added itself.
    AtLeast(u64),
}

#[derive(Clone, Debug)]
pub struct Parent {
    pub children: Vec<Task>,
    pub waits: Vec<WaitsFor>,
}

/// What a task uses: one mode of the number or of the object of its session or scope.
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
    /// By an error that its body returns.
    Returns,
    /// By the drop of what it has captured.
    Bomb,
}

/// What a task returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    None,
    Heap,
    /// It may leak.
    Light,
    /// Its drop panics.
    Bomb,
}

/// What a body does.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Pause(u32),
    /// Runs two halves.
    Fork,
    /// Opens a scope, on a runtime that the closure keeps.
    Scope {
        runtime: usize,
    },
    /// The same with a session.
    Session {
        runtime: usize,
    },
    /// Ends a join of a session, which the closure keeps.
    Join {
        join: usize,
        how: Joined,
    },
    /// Ends a session, which the closure keeps.
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
