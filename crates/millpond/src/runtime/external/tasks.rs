//! Tasks with preconditions. Any thread can satisfy a precondition, once.
//!
//! Collections and distribution enter the runtime only here. A pending task has no accesses, so no
//! scheme knows it. The owners of its preconditions hold it. When the last one is satisfied, it
//! goes into the pool.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;

use crate::handle::access::{In, Root};
use crate::names::TaskName;
use crate::runtime::engine::{DefaultEngine, Engine};
use crate::runtime::scope::Scope;
use crate::runtime::spawn::body::ParentCode;
use crate::runtime::spawn::{Options, Task};
use crate::task::TaskRef;
use crate::worker::external::Admission;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;

/// Spawns tasks into a root scope: from any of its tasks, and from other threads while it is open.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use millpond::{Runtime, Spawn};
///
/// let sum = AtomicU32::new(0);
/// let rt = Runtime::builder().workers(2).build()?;
/// rt.scope(|s| {
///     let pending = s.external().pending(|| assert_eq!(sum.load(Relaxed), 3));
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
pub struct ExternalTasks<'s, E: Engine = DefaultEngine> {
    admission: NonNull<Admission>,
    _lives: PhantomData<(fn(&'s ()) -> &'s (), fn(E) -> E)>,
}

impl<E: Engine> Clone for ExternalTasks<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Engine> Copy for ExternalTasks<'_, E> {}

// SAFETY: it counts spawns, and allocates, through the calling worker's seat or, under a lock, the
// inject seat. `'s` ends only when the scope is complete. It is not complete while its body or one
// of its tasks uses this value.
unsafe impl<E: Engine> Send for ExternalTasks<'_, E> {}
// SAFETY: as above.
unsafe impl<E: Engine> Sync for ExternalTasks<'_, E> {}

/// A task that waits for its preconditions. It cannot start before this value is dropped, so
/// preconditions can be added one by one.
#[must_use = "the task starts when this is dropped and all its preconditions are met"]
pub struct Pending(ManuallyDrop<Precondition>);

/// One precondition of a pending task.
///
/// If it is dropped before it is satisfied, the task fails as
/// [`Kind::Abandoned`](crate::Kind::Abandoned), so that the scope does not wait forever. If it is
/// leaked by `mem::forget`, the scope waits forever.
///
/// It may be kept anywhere, even if the task borrows: the scope does not end before it is satisfied
/// or dropped.
#[must_use = "dropped, it fails the task"]
pub struct Precondition(TaskRef);

// SAFETY: a precondition is an atomic count in the task's block. The block stays until the count is
// 0.
unsafe impl Send for Precondition {}
// SAFETY: as above.
unsafe impl Sync for Precondition {}

impl<'s, E: Engine> ExternalTasks<'s, E> {
    /// # Safety
    ///
    /// Runtime and scope state outlive the completion of the scope, and `'s` lasts at most until
    /// then.
    pub(crate) unsafe fn new(shared: &Shared<E>, scope_state: &ScopeState) -> Self {
        let admission = scope_state.open_admission(|| Admission::of(shared, scope_state.into())).into();
        ExternalTasks { admission, _lives: PhantomData }
    }

    /// Makes a leaf that waits for preconditions; see [`Pending::hold`]. Allocates the task's
    /// block, like a spawn. No window limits the number of these tasks.
    #[track_caller]
    pub fn pending<F: FnOnce() + Send + 's>(&self, body: F) -> Pending {
        self.leaf(Options::at(Location::caller()), move |()| body())
    }

    /// Names the task that is made next, like [`Spawn::task`](crate::Spawn::task). Then call
    /// [`pending`](Task::pending) or [`pending_nest`](Task::pending_nest).
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let result = rt.scope(|s| {
    ///     let step = s.external().task("step").index([7]).priority(1).pending(|| unreachable!());
    ///     drop(step.hold());
    /// });
    /// let text = "task `step(7)` waited for a precondition that was dropped";
    /// assert_eq!(result.unwrap_err().to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn task(&self, name: impl TaskName) -> Task<'_, Self> {
        Task::named(self, name)
    }

    fn leaf<F: FnOnce(()) + Send + 's>(&self, options: Options, f: F) -> Pending {
        // SAFETY: the closure lives as long as the scope's tasks.
        unsafe { self.admission().leaf(options, f) }
    }

    /// Like [`pending`](ExternalTasks::pending), for a parent: its body gets its own scope, and may
    /// wait.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// # let (rt, answer) = (Runtime::new()?, AtomicU32::new(0));
    /// rt.scope(|s| {
    ///     let go = s.external().pending_nest(|s| {
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
    pub fn pending_nest<F>(&self, body: F) -> Pending
    where
        F: for<'t> FnOnce(&Scope<'s, 's, In<'t>, E>) + Send + 's,
    {
        self.parent(Options::at(Location::caller()), move |s, ()| body(s))
    }

    fn parent<F>(&self, options: Options, f: F) -> Pending
    where
        F: for<'t> FnOnce(&Scope<'s, 's, In<'t>, E>, ()) + Send + 's,
    {
        // SAFETY: the table fits the closure, which lives as long as the scope's tasks.
        unsafe { self.admission().make_body(ParentCode::<'s, 's, E, Root, (), F, (), ()>::NEST, f, options) }
    }

    fn admission(&self) -> &Admission {
        // SAFETY: the caller of `new` promised that the scope state lives.
        unsafe { self.admission.as_ref() }
    }

    /// Runs a future as a task of the scope.
    ///
    /// The calling body polls it once, immediately. If the future is pending, it is kept in a task
    /// block. After it is woken, a free worker polls it again. Apart from the poll, this takes
    /// constant time.
    ///
    /// While the future waits, the scope can be [quiescent](crate::Scope::quiesce).
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// let (rt, sum) = (Runtime::new()?, AtomicU32::new(0));
    /// let session = rt.session();
    /// rt.scope(|s| {
    ///     let (external, six) = (s.external(), session.spawn((), |()| 6));
    ///     s.spawn((), {
    ///         let sum = &sum;
    ///         move |()| external.run_future(async move { _ = sum.fetch_add(six.await.unwrap(), Relaxed) })
    ///     });
    /// })?;
    /// assert_eq!(sum.into_inner(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// They appear in the scope's result, not here: a panic, or
    /// [`Kind::Abandoned`](crate::Kind::Abandoned) if the future waits and all its wakers are
    /// dropped.
    #[track_caller]
    pub fn run_future<F: Future<Output = ()> + Send + 's>(&self, future: F) {
        self.future(Options::at(Location::caller()), future);
    }

    fn future<F: Future<Output = ()> + Send + 's>(&self, options: Options, future: F) {
        // SAFETY: the future lives as long as the scope's tasks.
        unsafe { self.admission().future(options, future) }
    }

    /// Like [`run_future`](ExternalTasks::run_future), but first polled when all preconditions are
    /// satisfied.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn, item::Item};
    /// let (rt, six, answer) = (Runtime::new()?, Item::new(), Item::new());
    /// rt.scope(|s| {
    ///     let pending = s.external().pending_future(async { answer.put(six.get().unwrap() * 7).unwrap() });
    ///     six.wait(pending.hold());
    ///     drop(pending);
    ///     s.spawn((), |()| six.put(6).unwrap());
    /// })?;
    /// assert_eq!(answer.get(), Some(&42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn pending_future<F: Future<Output = ()> + Send + 's>(&self, future: F) -> Pending {
        self.later(Options::at(Location::caller()), future)
    }

    fn later<F: Future<Output = ()> + Send + 's>(&self, options: Options, future: F) -> Pending {
        // SAFETY: the future lives as long as the scope's tasks.
        unsafe { self.admission().pending_future(options, future) }
    }

    /// Polls a future in the middle of a leaf spawned through this value.
    ///
    /// While the future waits, the leaf's stack is suspended, and the worker runs other tasks.
    /// Meanwhile hold nothing that keeps other tasks from running, such as a lock.
    ///
    /// While the future waits, the scope can be [quiescent](crate::Scope::quiesce).
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::new()?;
    /// let session = rt.session();
    /// rt.scope(|s| {
    ///     let (external, six) = (s.external(), session.spawn((), |()| 6));
    ///     drop(external.pending(move || assert_eq!(external.wait_in_place(six).unwrap().unwrap(), 6)));
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the future waits and all its wakers are dropped, or if the system has no memory for
    /// another stack.
    ///
    /// # Panics
    ///
    /// If this thread does not work for the scope's runtime.
    #[track_caller]
    pub fn wait_in_place<F: Future>(&self, future: F) -> Result<F::Output, WaitError> {
        self.admission().wait_in_place(Location::caller(), future)
    }
}

/// Why a future that was awaited [in place](ExternalTasks::wait_in_place) did not become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// The future waits, and all its wakers are dropped.
    Abandoned,
    /// The future waits, and there is no other stack for the worker.
    NoStack {
        /// How many stacks of this worker wait.
        waiting: usize,
    },
}

impl std::fmt::Display for WaitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WaitError::Abandoned => f.write_str("what it waits for is gone"),
            WaitError::NoStack { waiting } => write!(
                f,
                "the system reserves no other stack, and {waiting} wait on this worker: choose a smaller stack_size, or \
                 raise vm.max_map_count or the limit on memory"
            ),
        }
    }
}

impl std::error::Error for WaitError {}

impl<'s, E: Engine> Task<'_, ExternalTasks<'s, E>> {
    /// Like [`ExternalTasks::pending`].
    pub fn pending<F: FnOnce() + Send + 's>(self, body: F) -> Pending {
        self.scope.leaf(self.options, move |()| body())
    }

    /// Like [`ExternalTasks::run_future`].
    pub fn run_future<F: Future<Output = ()> + Send + 's>(self, future: F) {
        self.scope.future(self.options, future);
    }

    /// Like [`ExternalTasks::pending_future`].
    pub fn pending_future<F: Future<Output = ()> + Send + 's>(self, future: F) -> Pending {
        self.scope.later(self.options, future)
    }

    /// Like [`ExternalTasks::pending_nest`].
    pub fn pending_nest<F>(self, body: F) -> Pending
    where
        F: for<'t> FnOnce(&Scope<'s, 's, In<'t>, E>) + Send + 's,
    {
        self.scope.parent(self.options, move |s, ()| body(s))
    }
}

impl Pending {
    /// Wraps a task that was made with one precondition.
    pub(in crate::runtime) fn of(task: TaskRef) -> Self {
        Pending(ManuallyDrop::new(Precondition(task)))
    }

    /// Adds a precondition: one atomic addition, and no allocation.
    ///
    /// ```
    /// # use millpond::{Kind, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let result = rt.scope(|s| {
    ///     let pending = s.external().pending(|| unreachable!());
    ///     let (met, never) = (pending.hold(), pending.hold());
    ///     met.satisfy();
    ///     drop(never);
    /// });
    /// assert_eq!(result.unwrap_err().kind(), &Kind::Abandoned);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold(&self) -> Precondition {
        self.0.0.header().add_unmet();
        Precondition(self.0.0)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.meet();
    }
}

impl Precondition {
    /// A precondition that `add_unmet` has counted.
    pub(in crate::runtime) fn of(task: TaskRef) -> Self {
        Precondition(task)
    }

    /// Satisfies the precondition. The last one sends the task to the workers. Everything before
    /// each call happens before the task's body. Takes constant time and runs no body.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # use std::sync::Mutex;
    /// # let (rt, letter) = (Runtime::new()?, Mutex::new(None));
    /// rt.scope(|s| {
    ///     let pending = s.external().pending(|| assert_eq!(*letter.lock().unwrap(), Some("hello")));
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
        if self.0.header().meet() {
            // SAFETY: the task is held, so its scope exists.
            let admission = unsafe { self.0.header().scope_state().as_ref() }.admission();
            // SAFETY: the task was held until now.
            unsafe { Admission::let_in(admission.expect("an external task").into(), self.0) };
        }
    }
}

impl Drop for Precondition {
    fn drop(&mut self) {
        self.0.header().abandon();
        self.meet();
    }
}

impl<E: Engine> std::fmt::Debug for ExternalTasks<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalTasks").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Precondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Precondition").field(&self.0).finish()
    }
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pending").field(&self.0.0).finish()
    }
}
