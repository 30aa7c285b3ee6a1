//! What is unfinished in a runtime, and what it waits for: [`Runtime::dump`](crate::Runtime::dump).
//!
//! For a program that hangs, or is slow: the dump names every task that is not complete, with its state, since when it
//! is in it, and which tasks it waits for. [`Builder::dumps`](crate::Builder::dumps) makes a runtime keep the account;
//! `Builder::dump_on_signal` (Cargo feature `signal`) has it printed without a line of code where it hangs.
//!
//! ```
//! use millpond::record::dump::State;
//! use millpond::{Handle, Runtime, Spawn};
//!
//! let rt = Runtime::builder().workers(1).dumps(true).build()?;
//! let page = Handle::new(String::new());
//! rt.scope(|s| {
//!     s.task("fetch").nest(page.inout(), |_, _| ());
//!     s.task("parse").index([7]).spawn(page.read(), |_| ());
//!     let dump = rt.dump();
//!     let parse = dump.unfinished.iter().find(|task| task.label.name() == Some("parse")).unwrap();
//!     assert_eq!((parse.state, parse.waits_for[0].tasks[0].label.to_string()), (State::Data, "fetch".to_owned()));
//!     println!("{dump}");
//! })?;
//! assert!(rt.dump().unfinished.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It prints, among others:
//!
//! ```text
//! parse(7)
//!     a leaf of the scope at src/main.rs:6, spawned at src/main.rs:8
//!     waits for data, for 12.3 µs
//!     access 0, read of datum 1: after fetch
//! ```

use std::panic::Location;
use std::time::Duration;

use super::{Cause, Id, Role};
use crate::WorkerCounts;
use crate::depend::Mode;
use crate::error::Label;

mod explain;
mod show;

pub(crate) use explain::explain;

/// What is unfinished in a runtime, as one of its [dumps](crate::Runtime::dump) has it. Displayed, it is text for
/// people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dump {
    /// Whether the runtime keeps account of its tasks ([`Builder::dumps`](crate::Builder::dumps)); if not, nothing is
    /// known of what is unfinished.
    pub kept: bool,
    /// Every body that is not complete, those that were spawned first at the front: tasks, the closures of scopes, and
    /// sessions.
    pub unfinished: Vec<Unfinished>,
    /// The bodies that run, each on top of its thread, those that have run longest at the front.
    pub busy: Vec<Busy>,
    /// What each worker has done so far, as [`Runtime::counts`](crate::Runtime::counts) has it.
    pub workers: Vec<WorkerCounts>,
}

/// A body that a thread runs: nothing else goes on there until it ends or waits.
///
/// Displayed, it is a line: "worker 1 has been in `solve(3)` for 5.1 s while it holds 3 suspended bodies".
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// The worker; `None` is the thread of a caller beyond the first, one that works for sessions, or a spare thread.
    pub worker: Option<u32>,
    /// The body.
    pub body: Who,
    /// Whether it is the closure of a root scope.
    pub is_closure: bool,
    /// For how long it has run, since it began or went on.
    pub since: Duration,
    /// Bodies of the same thread that wait. They go on there, so not before this one lets them.
    pub suspended: usize,
}

/// A body that is not complete: of a task, or of a scope.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unfinished {
    /// Its number, by which others name it.
    pub id: Id,
    /// The name with indices, or the place.
    pub label: Label,
    /// What kind of task; `None` is the closure of a root scope, or a session.
    pub role: Option<Role>,
    /// Where it was spawned, or opened.
    pub place: &'static Location<'static>,
    /// The body that spawned it. Of a scope, the body that opened it, if that is one of this runtime.
    pub parent: Option<Who>,
    /// What it does.
    pub state: State,
    /// For how long it has been in this state.
    pub since: Duration,
    /// What it waits for, as far as there are tasks to name: an entry for each access that is not granted, for each
    /// turn, for the task or the datum that its body waits for.
    pub waits_for: Vec<WaitsFor>,
}

/// A body by its number and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Who {
    /// Its number.
    pub id: Id,
    /// Its name, or its place.
    pub label: Label,
}

/// What an unfinished body does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Somebody must meet a precondition of it ([`ExternalTasks`](crate::ExternalTasks)).
    Pending,
    /// It waits for earlier tasks on its data.
    Data,
    /// Its data are there, and it waits for its turn among tasks that commute.
    Turn,
    /// It is in a pool, and no worker has taken it.
    Ready,
    /// Its body runs, or stands below another one that does: of a task that ran at its spawn, or of a scope that it
    /// opened.
    Running {
        /// The worker; `None` is the thread of a caller beyond the first, or one that works for sessions.
        worker: Option<u32>,
    },
    /// Its body stands still.
    Waiting {
        /// Why.
        cause: Cause,
        /// The worker that goes on with it; `None` as above.
        worker: Option<u32>,
    },
    /// Its body has ended, descendants of it have not. So is a session, which has no body.
    Ended {
        /// Children that are not complete.
        children: usize,
    },
}

/// What a body waits for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitsFor {
    /// Which of its accesses waits, from 0; `None` if the body waits.
    pub access: Option<usize>,
    /// How it uses the datum, if it waits for one.
    pub mode: Option<Mode>,
    /// The number of the datum, if it waits for one: two accesses with the same number share a datum.
    pub datum: Option<u64>,
    /// The tasks that must be complete first; at most [`MOST`](WaitsFor::MOST). Those that they wait for in their turn
    /// are not among them. None, if what it waited for is complete, and it is about to go on.
    pub tasks: Vec<Who>,
    /// How many more there are.
    pub more: usize,
}

impl WaitsFor {
    /// The most tasks that are named.
    pub const MOST: usize = 3;
}
