//! A handle of a root scope, for data that was made before the scope.
//!
//! [`ExternalTasks`](crate::ExternalTasks) borrows its scope, so data made before the scope cannot
//! keep one. A [`ScopeHandle`] can be kept anywhere: each call checks whether the scope is still
//! open.
//!
//! 1. A task spawned through the handle runs *inside* the scope; a thread-local says so. The scope
//!    does not end before its tasks, so the task needs no lock. A suspended fiber keeps the
//!    thread-local.
//! 2. Any other thread takes the lock and reads whether the handle is open. A task that it creates
//!    under the lock is held, or counted as outstanding, before the thread releases the lock.
//! 3. When the scope is quiescent and holds no task (`quiesce`), its owner closes the handle under
//!    the lock. Then the scope ends.

use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::names::TaskName;
use crate::runtime::external::tasks::{Pending, WaitError};
use crate::runtime::spawn::{Options, Task};
use crate::sync::{Mutex, MutexGuard};
use crate::worker::current::Inside;
use crate::worker::external::{Admission, HandleState};

/// A handle of a root scope: it spawns tasks from data that was made before the scope.
///
/// Tasks of the scope can use it, and other threads while the scope is open. Made by
/// [`Scope::scope_handle`](crate::Scope::scope_handle). Clones refer to the same scope.
///
/// ```
/// use std::sync::OnceLock;
/// use millpond::{ScopeHandle, Runtime, item::Item};
///
/// // Made before the scope. Each task of the chain spawns the next one through the handle.
/// struct Chain<'a> {
///     scope: OnceLock<ScopeHandle<'a>>,
///     end: Item<u32>,
/// }
/// fn step<'a>(chain: &'a Chain<'a>, left: u32) {
///     let scope = chain.scope.get().unwrap();
///     let next = move || if left == 0 { chain.end.put(42).unwrap() } else { step(chain, left - 1) };
///     drop(scope.pending(next).expect("the scope is open"));
/// }
///
/// let rt = Runtime::new()?;
/// let chain = Chain { scope: OnceLock::new(), end: Item::new() };
/// rt.scope(|s| {
///     chain.scope.set(s.scope_handle()).unwrap();
///     step(&chain, 10);
/// })?;
/// assert_eq!(chain.end.get(), Some(&42));
/// assert!(chain.scope.get().unwrap().pending(|| ()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScopeHandle<'env> {
    inner: Arc<HandleState>,
    _lives: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// The scope of a scope handle has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// The lock of a scope handle.
pub(crate) struct Opening<'i>(MutexGuard<'i, bool>);

impl HandleState {
    /// # Safety
    ///
    /// The admission belongs to a scope that closes the handle before it ends.
    pub(in crate::runtime) unsafe fn new(admission: &Admission) -> Arc<Self> {
        Arc::new(HandleState { admission: admission.into(), open: Mutex::new(true) })
    }

    pub(in crate::runtime) fn lock(&self) -> Opening<'_> {
        Opening(self.open.lock())
    }

    /// Runs `f` with the admission, if the scope is open. `f` must not run the user's code.
    fn with<R>(&self, f: impl FnOnce(&Admission) -> R) -> Result<R, Closed> {
        let inside = Inside::is(std::ptr::from_ref(self).cast());
        let open = (!inside).then(|| self.lock());
        if open.as_ref().is_some_and(|open| !*open.0) {
            return Err(Closed);
        }
        // SAFETY: a task of the scope runs here, or the scope waits for the lock (steps 1 and 2).
        Ok(f(unsafe { self.admission.as_ref() }))
    }
}

impl Opening<'_> {
    pub(in crate::runtime) fn close(mut self) {
        *self.0 = false;
    }
}

impl<'env> ScopeHandle<'env> {
    /// # Safety
    ///
    /// Everything that outlives `'env` outlives the scope.
    pub(in crate::runtime) unsafe fn new(inner: Arc<HandleState>) -> Self {
        ScopeHandle { inner, _lives: PhantomData }
    }

    fn here(&self) -> *const () {
        Arc::as_ptr(&self.inner).cast()
    }

    /// Like [`ExternalTasks::pending`](crate::ExternalTasks::pending).
    ///
    /// # Errors
    ///
    /// If the scope has ended.
    #[track_caller]
    pub fn pending<F: FnOnce() + Send + 'env>(&self, body: F) -> Result<Pending, Closed> {
        self.leaf(Options::at(Location::caller()), body)
    }

    fn leaf<F: FnOnce() + Send + 'env>(&self, options: Options, body: F) -> Result<Pending, Closed> {
        let here = Address(self.here());
        let inside = move |()| {
            let _inside = Inside::enter(here.get());
            body();
        };
        // SAFETY: the closure lives as long as the scope's tasks.
        self.inner.with(|admission| unsafe { admission.leaf(options, inside) })
    }

    /// Like [`ExternalTasks::run_future`](crate::ExternalTasks::run_future), from within a task
    /// spawned through this handle.
    ///
    /// # Panics
    ///
    /// If the caller is not such a task.
    #[track_caller]
    pub fn run_future<F: Future<Output = ()> + Send + 'env>(&self, future: F) {
        self.future(Options::at(Location::caller()), future);
    }

    /// Like [`ExternalTasks::pending_future`](crate::ExternalTasks::pending_future).
    ///
    /// # Errors
    ///
    /// If the scope has ended.
    #[track_caller]
    pub fn pending_future<F: Future<Output = ()> + Send + 'env>(&self, future: F) -> Result<Pending, Closed> {
        self.later(Options::at(Location::caller()), future)
    }

    fn later<F: Future<Output = ()> + Send + 'env>(&self, options: Options, future: F) -> Result<Pending, Closed> {
        let future = InsideFuture { here: Address(self.here()), future };
        // SAFETY: the future lives as long as the scope's tasks.
        self.inner.with(|admission| unsafe { admission.pending_future(options, future) })
    }

    fn future<F: Future<Output = ()> + Send + 'env>(&self, options: Options, future: F) {
        let future = InsideFuture { here: Address(self.here()), future };
        // SAFETY: the future lives as long as the scope's tasks.
        unsafe { self.admission_inside().future(options, future) }
    }

    /// Like [`ExternalTasks::wait_in_place`](crate::ExternalTasks::wait_in_place), from within a
    /// task spawned through this handle.
    ///
    /// # Errors
    ///
    /// The same as there.
    ///
    /// # Panics
    ///
    /// If the caller is not such a task.
    #[track_caller]
    pub fn wait_in_place<F: Future>(&self, future: F) -> Result<F::Output, WaitError> {
        self.admission_inside().wait_in_place(Location::caller(), future)
    }

    /// Keeps the scope from [quiescence](crate::Scope::quiesce) until the result is dropped, on any
    /// thread. A task spawned through this handle uses it to wait for something outside. It costs
    /// one atomic addition and one subtraction.
    ///
    /// # Panics
    ///
    /// If the caller is not such a task.
    pub fn stay(&self) -> Stay {
        let admission = self.admission_inside();
        // SAFETY: a task of the scope runs here.
        unsafe { admission.scope_state().as_ref() }.count_hidden_spawn();
        Stay(admission.into())
    }

    fn admission_inside(&self) -> &Admission {
        assert!(Inside::is(self.here()), "a task of the handle's scope runs or waits for a future, no other thread");
        // SAFETY: as long as that task runs, the scope does not end.
        unsafe { self.inner.admission.as_ref() }
    }
}

impl<'env> Task<'_, ScopeHandle<'env>> {
    /// Like [`ScopeHandle::pending`].
    ///
    /// # Errors
    ///
    /// If the scope has ended.
    pub fn pending<F: FnOnce() + Send + 'env>(self, body: F) -> Result<Pending, Closed> {
        self.scope.leaf(self.options, body)
    }

    /// Like [`ScopeHandle::pending_future`].
    ///
    /// # Errors
    ///
    /// The same as there.
    pub fn pending_future<F: Future<Output = ()> + Send + 'env>(self, future: F) -> Result<Pending, Closed> {
        self.scope.later(self.options, future)
    }

    /// Like [`ScopeHandle::run_future`].
    ///
    /// # Panics
    ///
    /// The same as there.
    pub fn run_future<F: Future<Output = ()> + Send + 'env>(self, future: F) {
        self.scope.future(self.options, future);
    }
}

impl<'env> ScopeHandle<'env> {
    /// Names the task that is made next.
    #[track_caller]
    pub fn task(&self, name: impl TaskName) -> Task<'_, Self> {
        Task::named(self, name)
    }
}

/// Something outside that a scope waits for; see [`ScopeHandle::stay`].
#[derive(Debug)]
#[must_use = "the scope stays as long as this is kept"]
pub struct Stay(NonNull<Admission>);

// SAFETY: it owns one count of the scope, which does not end before that is subtracted. Any thread
// may subtract.
unsafe impl Send for Stay {}
// SAFETY: a shared reference has no operations.
unsafe impl Sync for Stay {}

impl Drop for Stay {
    fn drop(&mut self) {
        // SAFETY: counted in `stay`.
        unsafe { Admission::leave(self.0) }
    }
}

/// The address identifies the scope handle. It is never dereferenced.
#[derive(Clone, Copy)]
struct Address(*const ());

// SAFETY: only a number.
unsafe impl Send for Address {}

impl Address {
    fn get(self) -> *const () {
        self.0
    }
}

pin_project! {
    /// A future that is polled inside the scope.
    struct InsideFuture<F> {
        here: Address,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for InsideFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _inside = Inside::enter(this.here.get());
        this.future.poll(context)
    }
}

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the scope of the scope_handle has ended")
    }
}

impl std::error::Error for Closed {}
