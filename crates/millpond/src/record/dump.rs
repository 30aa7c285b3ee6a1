//! The unfinished bodies of a runtime, and what they wait for:
//! [`Runtime::dump`](crate::Runtime::dump).
//!
//! Use it for a program that hangs or is slow. The dump names every task that is not complete, its
//! state, the time in that state, and the tasks that it waits for.
//! [`Builder::dumps`](crate::Builder::dumps) makes a runtime track its tasks.
//! `Builder::dump_on_signal` (Cargo feature `signal`) prints a dump without any code in the
//! program's hanging part.
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
//! This prints, among others:
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

/// The unfinished bodies of a runtime, as [`Runtime::dump`](crate::Runtime::dump) returns them.
/// Displayed, it is text for people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dump {
    /// Whether the runtime tracks its tasks ([`Builder::dumps`](crate::Builder::dumps)). If not,
    /// nothing is known about unfinished bodies.
    pub kept: bool,
    /// All bodies that are not complete: tasks, the closures of scopes, and sessions, in the order
    /// of their spawns.
    pub unfinished: Vec<Unfinished>,
    /// The running bodies, each on top of its thread. The longest-running comes first.
    pub busy: Vec<Busy>,
    /// The counts of each worker so far, as in [`Runtime::counts`](crate::Runtime::counts).
    pub workers: Vec<WorkerCounts>,
}

/// A body that a thread runs. The thread runs nothing else until the body finishes or waits.
///
/// Displayed, it is a line: "worker 1 has been in `solve(3)` for 5.1 s while it holds 3 suspended
/// bodies".
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// The worker. It is `None` for the thread of a caller beyond the first, for a thread that
    /// works for sessions, and for a spare thread.
    pub worker: Option<u32>,
    /// The body.
    pub body: Who,
    /// Whether it is the closure of a root scope.
    pub is_closure: bool,
    /// The time since it began or last continued.
    pub since: Duration,
    /// The number of waiting bodies of the same thread. They continue on that thread, so not before
    /// this body finishes or waits.
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
    /// The kind of task; `None` for the closure of a root scope, or for a session.
    pub role: Option<Role>,
    /// Where it was spawned, or opened.
    pub place: &'static Location<'static>,
    /// The body that spawned it. For a scope, it is the body that opened it, if that body belongs
    /// to this runtime.
    pub parent: Option<Who>,
    /// What it does.
    pub state: State,
    /// How long it has been in this state.
    pub since: Duration,
    /// What it waits for, as far as tasks can be named. There is an entry for each access that is
    /// not granted and for each turn. If its body waits for a task or a datum, there is an entry
    /// for that, too.
    pub waits_for: Vec<WaitsFor>,
}

/// A body, by its number and its label.
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
    /// A precondition is not satisfied yet ([`ExternalTasks`](crate::ExternalTasks)).
    Pending,
    /// It waits for earlier tasks that use its data.
    Data,
    /// It has its data, and waits for its turn among commutative tasks.
    Turn,
    /// It is in a pool, and no worker has taken it.
    Ready,
    /// Its body runs, or is below a running body on the same stack. That running body is of a task
    /// that ran at its spawn, or of a scope that this body opened.
    Running {
        /// The worker. It is `None` for the thread of a caller beyond the first, and for a thread
        /// that works for sessions.
        worker: Option<u32>,
    },
    /// Its body waits.
    Waiting {
        /// Why.
        cause: Cause,
        /// The worker that continues it; `None` as above.
        worker: Option<u32>,
    },
    /// Its body has finished, but some descendants are not complete. A session, which has no body,
    /// is always in this state.
    Ended {
        /// The number of children that are not complete.
        children: usize,
    },
}

/// What a body waits for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitsFor {
    /// The index of the access that waits, from 0; `None` if the body waits.
    pub access: Option<usize>,
    /// How the access or the body uses the datum, if it waits for one.
    pub mode: Option<Mode>,
    /// The number of the datum, if it waits for one. Two accesses with the same number share a
    /// datum.
    pub datum: Option<u64>,
    /// The tasks that must complete first, at most [`MAX_TASKS`](WaitsFor::MAX_TASKS). The tasks
    /// that those wait for are not included. The list is empty if these are complete, and the task
    /// or body is about to continue.
    pub tasks: Vec<Who>,
    /// The number of further tasks.
    pub more: usize,
}

impl WaitsFor {
    /// The largest number of named tasks.
    pub const MAX_TASKS: usize = 3;

    /// The former name of [`MAX_TASKS`](WaitsFor::MAX_TASKS).
    #[deprecated(note = "renamed to `MAX_TASKS`")]
    pub const MOST: usize = WaitsFor::MAX_TASKS;
}
