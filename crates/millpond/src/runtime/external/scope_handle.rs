//! A gate: a door for what was made before the scope, and lives longer.
//!
//! A [`Door`](crate::runtime::external::tasks::Door) serves tasks that may borrow what lives as long as the scope's tasks do, so nothing that
//! was made before the scope can keep one. A gate can be kept anywhere: it is looked at, each time, whether the scope is
//! still there.
//!
//! 1. Who runs in a task that came through the gate is *inside*, which a thread-local says: the scope does not end before
//!    its tasks. A fiber takes the thread-local along when it is put aside.
//! 2. Anybody else takes the lock, and finds the gate open or closed. What it makes under the lock is held, or counted as
//!    outstanding, before it gives the lock back.
//! 3. The owner closes the gate, under the lock, when it is quiet and nothing is held (`quiesce`), and then the scope ends.

use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::runtime::external::admission::Doors;
use crate::runtime::external::tasks::{Pending, WaitError};
use crate::runtime::spawn::{Options, Task};
use crate::sync::{Mutex, MutexGuard};
use crate::worker::current::Inside;

/// A way into a root scope for what was made before it: from its tasks, and from other threads while it is open. Made by
/// [`Scope::gate`](crate::Scope::gate); a clone is the same gate.
///
/// ```
/// use std::sync::OnceLock;
/// use millpond::{Gate, Runtime, item::Item};
///
/// // Made before the scope: a task that is found through it makes another one.
/// struct Chain<'a> {
///     gate: OnceLock<Gate<'a>>,
///     end: Item<u32>,
/// }
/// fn step<'a>(chain: &'a Chain<'a>, left: u32) {
///     let gate = chain.gate.get().unwrap();
///     let next = move || if left == 0 { chain.end.put(42).unwrap() } else { step(chain, left - 1) };
///     drop(gate.pending(next).expect("the scope is open"));
/// }
///
/// let rt = Runtime::new()?;
/// let chain = Chain { gate: OnceLock::new(), end: Item::new() };
/// rt.scope(|s| {
///     chain.gate.set(s.gate()).unwrap();
///     step(&chain, 10);
/// })?;
/// assert_eq!(chain.end.get(), Some(&42));
/// assert!(chain.gate.get().unwrap().pending(|| ()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gate<'env> {
    inner: Arc<Inner>,
    _lives: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// The scope of a gate has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// What all copies of a gate share.
#[derive(Debug)]
pub(crate) struct Inner {
    /// There as long as the scope.
    doors: NonNull<Doors>,
    open: Mutex<bool>,
}

// SAFETY: doors may be used by any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// The lock of a gate.
pub(crate) struct Opening<'i>(MutexGuard<'i, bool>);

impl Inner {
    /// # Safety
    ///
    /// The doors are those of a scope that closes the gate before it ends.
    pub(in crate::runtime) unsafe fn new(doors: &Doors) -> Arc<Self> {
        Arc::new(Inner { doors: doors.into(), open: Mutex::new(true) })
    }

    pub(in crate::runtime) fn lock(&self) -> Opening<'_> {
        Opening(self.open.lock())
    }

    /// Runs `f`, which runs no code of the user's, with the doors, if they are there.
    fn with<R>(&self, f: impl FnOnce(&Doors) -> R) -> Result<R, Closed> {
        let inside = Inside::is(std::ptr::from_ref(self).cast());
        let open = (!inside).then(|| self.lock());
        if open.as_ref().is_some_and(|open| !*open.0) {
            return Err(Closed);
        }
        // SAFETY: a task of the scope runs here, or the scope waits for the lock (steps 1 and 2).
        Ok(f(unsafe { self.doors.as_ref() }))
    }
}

impl Opening<'_> {
    pub(in crate::runtime) fn close(mut self) {
        *self.0 = false;
    }
}

impl<'env> Gate<'env> {
    /// # Safety
    ///
    /// What outlives `'env` outlives the scope.
    pub(in crate::runtime) unsafe fn new(inner: Arc<Inner>) -> Self {
        Gate { inner, _lives: PhantomData }
    }

    fn here(&self) -> *const () {
        Arc::as_ptr(&self.inner).cast()
    }

    /// As [`Door::pending`](crate::Door::pending).
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
        self.inner.with(|doors| unsafe { doors.leaf(options, inside) })
    }

    /// As [`Door::run_future`](crate::Door::run_future), from within a task that came through this gate.
    ///
    /// # Panics
    ///
    /// Elsewhere.
    #[track_caller]
    pub fn run_future<F: Future<Output = ()> + Send + 'env>(&self, future: F) {
        self.future(Options::at(Location::caller()), future);
    }

    /// As [`Door::pending_future`](crate::Door::pending_future).
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
        self.inner.with(|doors| unsafe { doors.pending_future(options, future) })
    }

    fn future<F: Future<Output = ()> + Send + 'env>(&self, options: Options, future: F) {
        let future = InsideFuture { here: Address(self.here()), future };
        // SAFETY: the future lives as long as the scope's tasks.
        unsafe { self.doors_inside().future(options, future) }
    }

    /// As [`Door::wait_in_place`](crate::Door::wait_in_place), from within a task that came through this gate.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// Elsewhere.
    #[track_caller]
    pub fn wait_in_place<F: Future>(&self, future: F) -> Result<F::Output, WaitError> {
        self.doors_inside().wait_in_place(Location::caller(), future)
    }

    /// Keeps the scope from [quiescence](crate::Scope::quiesce) until it is dropped, on whatever thread: for a task that
    /// came through this gate and now waits for something outside. One atomic addition, and a subtraction in the end.
    ///
    /// # Panics
    ///
    /// Elsewhere than in such a task.
    pub fn stay(&self) -> Stay {
        let doors = self.doors_inside();
        // SAFETY: a task of the scope runs here.
        unsafe { doors.domain().as_ref() }.count_hidden_spawn();
        Stay(doors.into())
    }

    fn doors_inside(&self) -> &Doors {
        assert!(Inside::is(self.here()), "a task of the gate's scope runs or waits for a future, not somebody else");
        // SAFETY: as long as that task runs, the scope does not end.
        unsafe { self.inner.doors.as_ref() }
    }
}

impl<'env> Task<'_, Gate<'env>> {
    /// As [`Gate::pending`].
    ///
    /// # Errors
    ///
    /// If the scope has ended.
    pub fn pending<F: FnOnce() + Send + 'env>(self, body: F) -> Result<Pending, Closed> {
        self.scope.leaf(self.options, body)
    }

    /// As [`Gate::pending_future`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn pending_future<F: Future<Output = ()> + Send + 'env>(self, future: F) -> Result<Pending, Closed> {
        self.scope.later(self.options, future)
    }

    /// As [`Gate::run_future`].
    ///
    /// # Panics
    ///
    /// As there.
    pub fn run_future<F: Future<Output = ()> + Send + 'env>(self, future: F) {
        self.scope.future(self.options, future);
    }
}

impl<'env> Gate<'env> {
    /// Names the task that is made next.
    #[track_caller]
    pub fn task(&self, name: &'static str) -> Task<'_, Self> {
        Task::named(self, name)
    }
}

/// Something outside that a scope waits for; see [`Gate::stay`].
#[derive(Debug)]
#[must_use = "the scope stays as long as this is kept"]
pub struct Stay(NonNull<Doors>);

// SAFETY: it stands for a count of the scope, which does not end before that is subtracted, as any thread may do.
unsafe impl Send for Stay {}
// SAFETY: a shared one does nothing.
unsafe impl Sync for Stay {}

impl Drop for Stay {
    fn drop(&mut self) {
        // SAFETY: counted in `stay`.
        unsafe { Doors::leave(self.0) }
    }
}

/// Which gate it is: never looked at.
#[derive(Clone, Copy)]
struct Address(*const ());

// SAFETY: a number.
unsafe impl Send for Address {}

impl Address {
    fn get(self) -> *const () {
        self.0
    }
}

pin_project! {
    /// A future that is polled inside.
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
        f.write_str("the scope of the gate has ended")
    }
}

impl std::error::Error for Closed {}
