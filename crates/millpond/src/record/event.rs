//! Events: what happened, and when.

use std::panic::Location;

use crate::mode::Mode;
use crate::task::Id;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it happened, by [`ticks`](super::ticks) (or the recorder's own clock). Along a track,
    /// times do not decrease, unless the clocks of different processors differ.
    pub at: u64,
    /// What happened.
    pub what: What,
}

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// It is complete with its body.
    Leaf = 0,
    /// It is complete with its body and all descendants.
    Parent = 1,
    /// The runtime makes it, to combine a reduction.
    Combine = 2,
    /// The second half of a [`join`](crate::join).
    Fork = 3,
}

/// Why a body waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// For a task: `on` is the task, or 0 if it is not recorded. Or for a root scope that the body
    /// opens on another runtime, which has the same recorder.
    Join = 0,
    /// For the earlier tasks on a datum (`wait_on`): `on` is the datum.
    Datum = 1,
    /// For the earlier writers of a datum, by a body that may only read it.
    Written = 2,
    /// For room in the window.
    Window = 3,
    /// For a future, or for a session: `on` is 0.
    Others = 4,
}

/// The kinds of events.
///
/// A *body* is the closure of a task or of a root scope. Bodies nest on one track. A body that
/// starts while another one runs on that track runs on top of it, and the other one continues
/// afterwards. A body that waits ([`Waits`](What::Waits)) does not run until it is
/// [`Resumed`](What::Resumed). Meanwhile, others may run on its track.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum What {
    /// A root scope was opened; its closure runs now.
    Opened {
        /// The scope, as a body.
        scope: Id,
        /// The body that opened it, or 0. That body ran on this track, or it waits for the scope on
        /// a track of another runtime.
        within: Id,
        /// Where.
        place: &'static Location<'static>,
    },
    /// A session was opened. Its tasks are spawned wherever it is used. It ends with `Completed`.
    Session {
        /// The session, as a body.
        scope: Id,
        /// Where.
        place: &'static Location<'static>,
    },
    /// A body, or the closure of a scope that it has opened, starts to spawn a task. Until `Issued`
    /// or `Started`, the time is the runtime's.
    Spawning {
        /// The body.
        body: Id,
    },
    /// A task was made. Its name, indices and accesses follow at once.
    Spawned {
        /// The kind of task.
        role: Role,
        /// The task.
        task: Id,
        /// The body whose child it is.
        spawner: Id,
        /// Its place among the children in reference order.
        order: u64,
        /// Where it was spawned.
        place: &'static Location<'static>,
    },
    /// The name of the task that was just made.
    Named {
        /// The name.
        name: &'static str,
    },
    /// Its indices.
    Indexed {
        /// How many there are.
        count: u8,
        /// The indices, then zeros.
        indices: [u32; 4],
    },
    /// One of its accesses, in order.
    Declared {
        /// The mode by which it is ordered: `inout` for the combination of a reduction.
        mode: Mode,
        /// The datum: two accesses to it have the same number. 0 is no datum.
        datum: u64,
    },
    /// The task is with the scheme or in the pool, and the body continues.
    Issued {
        /// The body that spawned it.
        body: Id,
    },
    /// An access for which a task had to wait was granted. For a body that waits for a datum, it is
    /// the body's access. If a task waits for several accesses, there is an event for the last one
    /// that is granted. There are events for the other accesses as far as the scheme learns of
    /// them. Under a searching scheme, there is an event for each access when the task is found,
    /// and it is unknown whose release led to it.
    Granted {
        /// The task or body that waited.
        task: Id,
        /// The task (or body that had waited for the datum) whose release led to this, or 0.
        by: Id,
        /// The index of the access. It is [`Event::PRECONDITION`] for the last precondition of a
        /// pending task, and [`Event::WAIT`] for a body that waits.
        access: u16,
    },
    /// A task was handed an exclusion for which it had waited after its accesses were granted.
    Handed {
        /// The task.
        task: Id,
        /// The task that had the exclusion.
        by: Id,
        /// The index of the access.
        access: u16,
    },
    /// A task's body begins.
    Started {
        /// The task.
        task: Id,
    },
    /// A body has finished, or a task's body must not run: then there is no `Started`. A leaf is
    /// now complete.
    Ended {
        /// The task or scope.
        body: Id,
        /// Whether it neither failed nor was refused.
        ok: bool,
    },
    /// A parent or a root scope is complete.
    Completed {
        /// The task or scope.
        body: Id,
    },
    /// A body waits.
    Waits {
        /// The body.
        body: Id,
        /// Why.
        cause: Cause,
        /// For what.
        on: u64,
    },
    /// A body continues. If it waited for a task, the task is complete; if for a datum, the access
    /// is granted.
    Resumed {
        /// The body.
        body: Id,
    },
    /// A body has got the result of a task, without `Waits`: it awaited the join.
    Joined {
        /// The body.
        body: Id,
        /// The task.
        task: Id,
    },
    /// A body has set a datum: a new version.
    Set {
        /// The body, or the session, that the scope belongs to.
        body: Id,
        /// Its place among the children in reference order.
        order: u64,
        /// The datum.
        datum: u64,
    },
    /// The worker took tasks from another one.
    Stole,
    /// By one scan of a stack, the worker took ready closures (the stack's scheme).
    StoleClosures {
        /// How many.
        closures: u32,
    },
    /// The next task in the worker's stack was stolen and is not complete. The worker waits for it
    /// until the next event of its track.
    AtTheft,
    /// The worker has no work.
    Idle,
    /// The worker searches for work again.
    Awake,
}

impl Event {
    /// The `access` of [`What::Granted`] if the last precondition of a pending task was satisfied.
    pub const PRECONDITION: u16 = u16::MAX;

    /// The `access` of [`What::Granted`] if a body waited for a datum.
    pub const WAIT: u16 = u16::MAX - 1;

    pub(crate) const NONE: Event = Event { at: 0, what: What::Idle };
}
