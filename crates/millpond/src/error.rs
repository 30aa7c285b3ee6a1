//! Errors: the label of a task that failed, and why it failed.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::mode::Mode;

/// Names a task: by its name and indices if it has a name, otherwise by the source location of its
/// spawn.
///
/// A label is formatted only when shown. The label of a task without a name is one word, the
/// location of its spawn.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let (rt, tile) = (Runtime::new()?, Handle::<f64>::unset());
/// let error = rt.scope(|s| {
///     s.task("trsm").index([3, 5]).spawn(tile.read(), |_| ());
/// });
/// let label = *error.unwrap_err().task();
/// assert_eq!((label.name(), label.indices()), (Some("trsm"), &[3, 5][..]));
/// assert_eq!(label.to_string(), "trsm(3,5)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    name: Name,
    indices: [u32; MAX_INDICES],
    count: u8,
}

/// The maximum number of indices in a label.
pub(crate) const MAX_INDICES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Given(&'static str),
    Location(&'static Location<'static>),
}

impl Label {
    pub(crate) const fn place(at: &'static Location<'static>) -> Self {
        Label { name: Name::Location(at), indices: [0; MAX_INDICES], count: 0 }
    }

    pub(crate) const fn named(name: &'static str) -> Self {
        Label { name: Name::Given(name), indices: [0; MAX_INDICES], count: 0 }
    }

    pub(crate) fn with_indices(mut self, indices: &[u32]) -> Self {
        let count = indices.len().min(MAX_INDICES);
        self.indices[..count].copy_from_slice(&indices[..count]);
        self.count = count as u8;
        self
    }

    /// The name given at the spawn, if any.
    pub fn name(&self) -> Option<&'static str> {
        match self.name {
            Name::Given(name) => Some(name),
            Name::Location(_) => None,
        }
    }

    /// The source location of the spawn, unless the task has a name.
    pub(crate) fn location(&self) -> Option<&'static Location<'static>> {
        match self.name {
            Name::Given(_) => None,
            Name::Location(place) => Some(place),
        }
    }

    /// The indices given at the spawn. An index beyond `u32` is shown as `u32::MAX`.
    pub fn indices(&self) -> &[u32] {
        &self.indices[..usize::from(self.count)]
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Name::Given(name) => f.write_str(name)?,
            Name::Location(at) => write!(f, "{}:{}", at.file(), at.line())?,
        }
        if let Some((first, rest)) = self.indices().split_first() {
            write!(f, "({first}")?;
            for index in rest {
                write!(f, ",{index}")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// Why a task failed.
///
/// ```
/// use millpond::{Handle, Kind, Runtime, Spawn};
///
/// let (rt, (a, b)) = (Runtime::new()?, (Handle::new(1), Handle::new(2)));
/// let result = rt.scope(|s| {
///     // A task may read one handle twice, but not read it and change it.
///     s.spawn((a.inout(), b.read(), a.read()), |(to, b, a)| *to = a + b);
/// });
/// match result.unwrap_err().kind() {
///     Kind::Duplicate { args: (first, second) } => assert_eq!((*first, *second), (0, 2)),
///     other => panic!("{other}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The body panicked, with this message.
    Panicked(String),
    /// The body returned an error ([`try_spawn`](crate::Spawn::try_spawn),
    /// [`try_nest`](crate::Spawn::try_nest)). That error is the
    /// [`source`](std::error::Error::source) of this one.
    Failed,
    /// A version that the task reads was not produced, because task `by` failed.
    Poisoned {
        /// The task that failed first.
        by: Label,
    },
    /// The scope or the task ([`SessionJoin::cancel`](crate::SessionJoin::cancel)) was cancelled
    /// before the task started, or its runtime was dropped.
    Cancelled,
    /// The body finished without setting a handle that it declared to
    /// [`write`](crate::Handle::write).
    Unwritten {
        /// The position among the task's accesses, from 0.
        arg: usize,
    },
    /// The task reads a handle that no task has written.
    NeverWritten {
        /// The position among the task's accesses, from 0.
        arg: usize,
    },
    /// One handle occurs twice among the accesses of the task. Only repeated
    /// [`read`](crate::Handle::read)s, or repeated [`concurrent`](crate::Handle::concurrent)
    /// accesses, are allowed.
    Duplicate {
        /// Both positions among the task's accesses, from 0.
        args: (usize, usize),
    },
    /// The handle belongs to another scope.
    ///
    /// A handle belongs to the scope that last used it, until that scope has ended. An open scope
    /// gives a handle away only if all of these hold:
    ///
    /// * no access to the handle is outstanding;
    /// * the other scope runs on the thread of the open scope's closure, so the open scope cannot
    ///   spawn at the same time;
    /// * the open scope runs no leaf at its spawn;
    /// * the open scope is not a session.
    ///
    /// So a scope in the closure of another scope may use its idle handles. For a scope in the
    /// *body* of a task, this depends on the thread that runs the body. Give such a body its own
    /// handles.
    ///
    /// From [`into_inner`](crate::Handle::into_inner) and [`get_mut`](crate::Handle::get_mut), this
    /// error means that accesses are outstanding. From [`get`](crate::Handle::get), it means that
    /// accesses are outstanding, or that the handle belongs to another scope.
    Busy {
        /// The position among the task's accesses, from 0.
        arg: usize,
    },
    /// The value of the handle is lent outside of scopes ([`Handle::get`](crate::Handle::get)): the
    /// [`Lent`](crate::Lent) exists, or was forgotten. Drop it before a task uses the handle.
    Lent {
        /// The position among the task's accesses, from 0.
        arg: usize,
    },
    /// A precondition of a pending task was dropped instead of satisfied.
    Abandoned,
    /// The body cannot wait: the system has no other stack for its worker. This happens if about
    /// 30,000 bodies wait at once (`vm.max_map_count`), or if a memory limit leaves no room. The
    /// body has not waited, and may continue. See
    /// [`Builder::stack_size`](crate::Builder::stack_size).
    NoStack {
        /// The number of waiting bodies on this worker.
        waiting: usize,
    },
    /// The runtime was built before the process forked, and this is the child, where none of its
    /// threads exist. See [`Runtime`](crate::Runtime#forks).
    Forked,
    /// The runtime's dependence scheme does not order accesses of this mode
    /// ([`Scheme::MODES`](crate::depend::Scheme::MODES)).
    Refused {
        /// The name of the scheme.
        scheme: &'static str,
        /// The mode.
        mode: Mode,
        /// The position among the task's accesses, from 0.
        arg: usize,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Panicked(message) => write!(f, "panicked: {message}"),
            Kind::Failed => f.write_str("returned an error"),
            Kind::Poisoned { by } => write!(f, "is poisoned: it reads what task `{by}` failed to produce"),
            Kind::Cancelled => f.write_str("was cancelled before it started"),
            Kind::Unwritten { arg } => write!(f, "ended without setting access {arg}, which it declared `write`"),
            Kind::NeverWritten { arg } => write!(f, "reads a handle that was never written (access {arg})"),
            Kind::Duplicate { args: (a, b) } => {
                write!(f, "names one handle twice (accesses {a} and {b}): declare it once, with the stronger right")
            }
            Kind::Busy { arg } => write!(f, "uses a handle that another scope is using (access {arg})"),
            Kind::Lent { arg } => write!(f, "uses a handle whose value is lent by `get` (access {arg})"),
            Kind::Refused { scheme, mode, arg } => {
                write!(f, "declares `{mode}` (access {arg}), which scheme `{scheme}` does not order")
            }
            Kind::NoStack { waiting } => write!(
                f,
                "cannot wait: the system reserves no other stack, and {waiting} bodies wait on this worker: choose a smaller \
                 stack_size or window, or raise vm.max_map_count or the limit on memory"
            ),
            Kind::Forked => f.write_str("cannot run: the process has forked since the runtime was built"),
            Kind::Abandoned => f.write_str("waited for a precondition that was dropped"),
        }
    }
}

/// A task that failed: its label and the reason. Cheap to clone.
///
/// If a task returned an error, [`source`](std::error::Error::source) is that error. For a poisoned
/// task, `source` is the failure where the chain began, not the previous task in the chain.
///
/// A scope or a parent returns the first failure in reference order that is a *cause*.
/// [`Kind::Poisoned`], [`Kind::Cancelled`] and [`Kind::Unwritten`] are *consequences*. If a body
/// returns such a failure of another task, that error is a consequence too. If there is no cause,
/// the first consequence is returned. A body's failure comes after the failures of its children.
///
/// ```
/// use std::error::Error as _;
/// use millpond::{Error, Handle, Kind, Runtime, Spawn};
///
/// let (rt, a, b) = (Runtime::new()?, Handle::new(1), Handle::unset());
/// let first = rt.scope(|s| {
///     s.task("forgets").spawn(a.write(), |_unset| ());
///     s.spawn((a.read(), b.write()), |(a, b)| b.set(*a));
/// });
/// assert_eq!(first.unwrap_err().kind(), &Kind::Unwritten { arg: 0 });
/// let error = b.into_inner().unwrap_err();
/// let cause = error.source().and_then(|cause| cause.downcast_ref::<Error>());
/// assert_eq!(cause.unwrap().task().name(), Some("forgets"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Error(Arc<Failure>);

#[derive(Debug)]
struct Failure {
    task: Label,
    kind: Kind,
    source: Option<Source>,
}

#[derive(Debug)]
enum Source {
    /// The failure that poisoned the task.
    Poison(Error),
    /// The error that the body returned.
    Returned(Arc<dyn std::error::Error + Send + Sync>),
    /// Not a task failed, but a `scope` or `session`; the label is its place.
    NotTask(&'static str),
}

impl Error {
    pub(crate) fn new(task: Label, kind: Kind) -> Self {
        Error(Arc::new(Failure { task, kind, source: None }))
    }

    /// Makes the failure of a task that reads a value missing because of `cause`.
    pub(crate) fn poisoned(task: Label, cause: &Error) -> Self {
        let cause = cause.root();
        let kind = Kind::Poisoned { by: cause.0.task };
        Error(Arc::new(Failure { task, kind, source: Some(Source::Poison(cause.clone())) }))
    }

    /// Makes the failure of a task whose body returned an error.
    pub(crate) fn returned(task: Label, error: Arc<dyn std::error::Error + Send + Sync>) -> Self {
        Error(Arc::new(Failure { task, kind: Kind::Failed, source: Some(Source::Returned(error)) }))
    }

    /// Makes the failure of a scope (or `session`, as `noun` says) that was opened at `place`.
    pub(crate) fn of_scope(noun: &'static str, place: &'static Location<'static>, kind: Kind) -> Self {
        Error(Arc::new(Failure { task: Label::place(place), kind, source: Some(Source::NotTask(noun)) }))
    }

    /// The failure that began the chain of poisonings.
    pub(crate) fn root(&self) -> &Error {
        match &self.0.source {
            Some(Source::Poison(cause)) => cause,
            _ => self,
        }
    }

    /// Whether another failure, or a cancellation, may have led to this one.
    pub(crate) fn is_consequence(&self) -> bool {
        match (&self.0.kind, &self.0.source) {
            (Kind::Poisoned { .. } | Kind::Cancelled | Kind::Unwritten { .. }, _) => true,
            // The body passed on the failure of another task.
            (_, Some(Source::Returned(error))) => error.downcast_ref::<Error>().is_some_and(Error::is_consequence),
            _ => false,
        }
    }

    /// The task that failed. If a whole scope or session was cancelled, the place where it was
    /// opened.
    pub fn task(&self) -> &Label {
        &self.0.task
    }

    /// Why it failed.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    pub(crate) fn into_raw(self) -> *const () {
        Arc::into_raw(self.0).cast()
    }

    /// # Safety
    ///
    /// `raw` came from [`into_raw`](Error::into_raw). Each call takes over one count.
    pub(crate) unsafe fn from_raw(raw: *const ()) -> Self {
        // SAFETY: `raw` came from `Arc::into_raw` of an `Arc<Failure>`, and the caller gives its
        // count away.
        Error(unsafe { Arc::from_raw(raw.cast()) })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.source {
            Some(Source::Returned(error)) => write!(f, "task `{}` failed: {error}", self.0.task),
            Some(Source::NotTask(noun)) if self.0.kind == Kind::Cancelled => {
                write!(f, "{noun} `{}` was cancelled", self.0.task)
            }
            Some(Source::NotTask(noun)) => write!(f, "{noun} `{}` {}", self.0.task, self.0.kind),
            Some(Source::Poison(cause)) if cause.0.kind == Kind::Cancelled => {
                write!(f, "task `{}` is poisoned: {cause}, and so did not produce what this task reads", self.0.task)
            }
            _ => write!(f, "task `{}` {}", self.0.task, self.0.kind),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.0.source.as_ref()? {
            Source::Poison(cause) => Some(cause),
            Source::Returned(error) => Some(&**error),
            Source::NotTask(_) => None,
        }
    }
}
