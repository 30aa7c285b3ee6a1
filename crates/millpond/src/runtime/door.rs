//! The pending door: tasks with preconditions that somebody outside meets, once each, from any thread.
//!
//! Collections and distribution enter the runtime here and nowhere else. A pending task has no accesses, so no scheme
//! knows it: it is held by whoever holds its preconditions, and goes into the pool when the last one is met.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;

use super::body::{Body, Code, ParentCode, payload, write_body};
use super::domain::Domain;
use super::engine::{DefaultEngine, Engine};
use super::scope::Scope;
use super::shared::Shared;
use super::spawn::{Options, Task};
use crate::access::{In, Root};
use crate::pool::Put;
use crate::task::{NewTask, Role, Shape, TaskRef, VTable, flag};

/// A way into a root scope from any of its tasks, and from other threads while it is open.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use millpond::{Runtime, Spawn};
///
/// let sum = AtomicU32::new(0);
/// let rt = Runtime::builder().workers(2).build()?;
/// rt.scope(|s| {
///     let pending = s.door().pending(|| assert_eq!(sum.load(Relaxed), 3));
///     for part in [1, 2] {
///         let precondition = pending.hold();
///         s.spawn((), {
///             let sum = &sum;
///             move |()| {
///                 sum.fetch_add(part, Relaxed);
///                 precondition.satisfy();
///             }
///         });
///     }
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Door<'s, E: Engine = DefaultEngine> {
    shared: NonNull<Shared<E>>,
    domain: NonNull<Domain>,
    _lives: PhantomData<fn(&'s ()) -> &'s ()>,
}

impl<E: Engine> Clone for Door<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Engine> Copy for Door<'_, E> {}

// SAFETY: a door counts spawns atomically and allocates through the calling worker's seat or, under a lock, the front
// one; `'s` ends only when the scope is complete, which it is not while one of its tasks, or its body, uses the door.
unsafe impl<E: Engine> Send for Door<'_, E> {}
// SAFETY: as above.
unsafe impl<E: Engine> Sync for Door<'_, E> {}

/// A task that waits for its preconditions. It cannot start before this is dropped, so preconditions can be added one
/// by one.
#[must_use = "the task starts when this is dropped and all its preconditions are met"]
pub struct Pending<'s, E: Engine = DefaultEngine>(ManuallyDrop<Precondition<'s, E>>);

/// One precondition of a pending task. If it is dropped without being satisfied, the task fails as
/// [`Kind::Abandoned`](crate::Kind::Abandoned), so that nobody waits for ever. (Leaked by `mem::forget`, it keeps its
/// scope waiting.)
#[must_use = "dropped, it fails the task"]
pub struct Precondition<'s, E: Engine = DefaultEngine> {
    task: TaskRef,
    shared: NonNull<Shared<E>>,
    _lives: PhantomData<fn(&'s ()) -> &'s ()>,
}

// SAFETY: a precondition is an atomic count in the task's block, which stays until the count is 0.
unsafe impl<E: Engine> Send for Precondition<'_, E> {}
// SAFETY: as above; `hold` only adds to the count.
unsafe impl<E: Engine> Sync for Precondition<'_, E> {}

impl<'s, E: Engine> Door<'s, E> {
    /// # Safety
    ///
    /// Runtime and domain outlive the completion of the scope, and `'s` lasts at most until then.
    pub(crate) unsafe fn new(shared: &Shared<E>, domain: NonNull<Domain>) -> Self {
        Door { shared: shared.into(), domain, _lives: PhantomData }
    }

    fn shared(&self) -> &Shared<E> {
        // SAFETY: `new`'s caller promised that it lives.
        unsafe { self.shared.as_ref() }
    }

    /// Makes a leaf that waits for preconditions; see [`Pending::hold`]. Allocates the task's block, as a spawn does;
    /// no window bounds how many there are.
    #[track_caller]
    pub fn pending<F: FnOnce() + Send + 's>(&self, body: F) -> Pending<'s, E> {
        self.leaf(Options::at(Location::caller()), move |()| body())
    }

    /// Names the task that is made next, as [`Spawn::task`](crate::Spawn::task): then
    /// [`pending`](Task::pending) or [`pending_nest`](Task::pending_nest).
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let result = rt.scope(|s| {
    ///     let step = s.door().task("step").index([7]).priority(1).pending(|| unreachable!());
    ///     drop(step.hold());
    /// });
    /// let text = "task `step(7)` waited for a precondition that was dropped";
    /// assert_eq!(result.unwrap_err().to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn task(&self, name: &'static str) -> Task<'_, Self> {
        Task::named(self, name)
    }

    fn leaf<F: FnOnce(()) + Send + 's>(&self, options: Options, f: F) -> Pending<'s, E> {
        self.make(Code::<'s, Root, (), F, ()>::LEAF, f, options)
    }

    /// As [`pending`](Door::pending), for a parent: its body gets a scope of its own, and may wait.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// # let (rt, answer) = (Runtime::new()?, AtomicU32::new(0));
    /// rt.scope(|s| {
    ///     let go = s.door().pending_nest(|s| {
    ///         let (six, seven) = (s.spawn((), |()| 6), s.spawn((), |()| 7));
    ///         answer.store(s.wait(six).unwrap() * s.wait(seven).unwrap(), Relaxed);
    ///     });
    ///     // Without a precondition it may start now.
    ///     drop(go);
    /// })?;
    /// assert_eq!(answer.into_inner(), 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn pending_nest<F>(&self, body: F) -> Pending<'s, E>
    where
        F: for<'t> FnOnce(&Scope<'s, 's, In<'t>, E>) + Send + 's,
    {
        self.parent(Options::at(Location::caller()), move |s, ()| body(s))
    }

    fn parent<F>(&self, options: Options, f: F) -> Pending<'s, E>
    where
        F: for<'t> FnOnce(&Scope<'s, 's, In<'t>, E>, ()) + Send + 's,
    {
        self.make(ParentCode::<'s, 's, E, Root, (), F, ()>::NEST, f, options)
    }

    /// Bytes are not counted: while somebody outside holds it, the task takes no room in the window, and the spawns
    /// that the window lets through may be what meets its preconditions.
    fn make<F>(&self, vtable: &'static VTable, f: F, mut options: Options) -> Pending<'s, E> {
        options.bytes = 0;
        // SAFETY: the scope is not complete while the door is used.
        let domain = unsafe { self.domain.as_ref() };
        let (order, size) = (domain.count_door_spawn(), payload::<(), F, ()>());
        let (task, room) = self.shared().visit(|worker| {
            let recorded = domain.record() != 0;
            let id = if recorded { worker.log.next_id() } else { 0 };
            let extras = match (recorded, options.is_plain()) {
                (true, _) => Some(options.recorded(id)),
                (false, true) => None,
                (false, false) => Some(options.extras()),
            };
            let shape = Shape { extras: extras.is_some(), accesses: 0, nest: vtable.role == Role::Nest };
            let block = worker.alloc(shape.block_size(size));
            let (place, priority) = (options.place, options.priority);
            let new = NewTask { vtable, domain: self.domain, order, place, priority, extras, accesses: 0 };
            // SAFETY: the block is fresh and has the size of these parts.
            let task = unsafe { TaskRef::create(block, new) };
            if recorded {
                worker.log.spawned(task, domain.record());
            }
            // SAFETY: the block was made for both.
            (task, unsafe { task.payload_of(shape, size.align()) })
        });
        // SAFETY: the task has room for this payload.
        unsafe { write_body::<(), F>(room, Body { shape: (), f }) };
        task.header().only_one_unmet();
        let first = Precondition { task, shared: self.shared, _lives: PhantomData };
        Pending(ManuallyDrop::new(first))
    }
}

impl<'s, E: Engine> Task<'_, Door<'s, E>> {
    /// As [`Door::pending`].
    pub fn pending<F: FnOnce() + Send + 's>(self, body: F) -> Pending<'s, E> {
        self.scope.leaf(self.options, move |()| body())
    }

    /// As [`Door::pending_nest`].
    pub fn pending_nest<F>(self, body: F) -> Pending<'s, E>
    where
        F: for<'t> FnOnce(&Scope<'s, 's, In<'t>, E>) + Send + 's,
    {
        self.scope.parent(self.options, move |s, ()| body(s))
    }
}

impl<'s, E: Engine> Pending<'s, E> {
    /// Adds a precondition: one atomic addition, and no allocation.
    ///
    /// ```
    /// # use millpond::{Kind, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let result = rt.scope(|s| {
    ///     let pending = s.door().pending(|| unreachable!());
    ///     let (met, never) = (pending.hold(), pending.hold());
    ///     met.satisfy();
    ///     drop(never);
    /// });
    /// assert_eq!(result.unwrap_err().kind(), &Kind::Abandoned);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold(&self) -> Precondition<'s, E> {
        self.0.task.header().add_unmet();
        Precondition { task: self.0.task, shared: self.0.shared, _lives: PhantomData }
    }
}

impl<E: Engine> Drop for Pending<'_, E> {
    fn drop(&mut self) {
        self.0.meet();
    }
}

impl<E: Engine> Precondition<'_, E> {
    /// The precondition is met. The last one sends the task to the workers; what happened before each happens before
    /// its body. Takes constant time, and runs no body.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # use std::sync::Mutex;
    /// # let (rt, letter) = (Runtime::new()?, Mutex::new(None));
    /// rt.scope(|s| {
    ///     let pending = s.door().pending(|| assert_eq!(*letter.lock().unwrap(), Some("hello")));
    ///     let arrived = pending.hold();
    ///     drop(pending);
    ///     std::thread::scope(|threads| {
    ///         threads.spawn(|| {
    ///             *letter.lock().unwrap() = Some("hello");
    ///             arrived.satisfy();
    ///         });
    ///     });
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn satisfy(self) {
        // The drop below would fail the task.
        ManuallyDrop::new(self).meet();
    }

    fn meet(&self) {
        if self.task.header().meet() {
            // SAFETY: the task is outstanding, so its scope is there.
            unsafe { self.task.header().domain().as_ref() }.count_let_in();
            // SAFETY: the task is outstanding, so its scope is not complete and the runtime alive; and so
            // until this returns, since it is called by the scope's body or one of its tasks.
            let shared = unsafe { self.shared.as_ref() };
            shared.visit(|worker| {
                if self.task.header().has(flag::RECORDED) {
                    worker.log.met(self.task);
                }
                worker.ready(self.task, Put::Spawned);
            });
        }
    }
}

impl<E: Engine> Drop for Precondition<'_, E> {
    fn drop(&mut self) {
        self.task.header().abandon();
        self.meet();
    }
}

impl<E: Engine> std::fmt::Debug for Door<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}

impl<E: Engine> std::fmt::Debug for Precondition<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Precondition").field(&self.task).finish()
    }
}

impl<E: Engine> std::fmt::Debug for Pending<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pending").field(&self.0.task).finish()
    }
}
