//! `Spawn`: what a program does in a scope, whatever scope and engine it is.

use std::panic::Location;

use crate::access::{Accesses, ArgsOf, CanRead, CanWrite, In};
use crate::error::{Error, Label, MAX_INDICES};
use crate::handle::Handle;
use crate::record::Id;
use crate::runtime::cancel::CancelToken;
use crate::runtime::wait_on::Ref;
use crate::task::Extras;

/// A scope of any engine, root or in a body: where tasks are spawned and waited for.
///
/// A program written against this trait serves as a whole program, as a part of another task, and on every engine:
///
/// ```
/// use millpond::{Access, Runtime, Spawn, Handle, Write};
///
/// fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
///     s.nest(r, move |s, r| {
///         if n < 2 {
///             s.set(&r, n);
///         } else {
///             let (a, b) = (s.unset(), s.unset());
///             fib(s, n - 1, a.write());
///             fib(s, n - 2, b.write());
///             s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
///         }
///     });
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let result = Handle::unset();
/// rt.scope(|s| fib(s, 15, result.write()))?;
/// assert_eq!(result.into_inner()?, 610);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A scope cannot be shared between threads or captured by a task: only its own body spawns, in its own order.
pub trait Spawn<'s>: Sized {
    /// Who may spawn on the handles of this scope: [`Root`](crate::Root), or one body.
    type Brand;
    /// The scope that a parent spawned here gets.
    type Inner<'t>: Spawn<'s, Brand = In<'t>>;
    /// What a spawn returns; see [`Join`](crate::Join).
    type Join<O: Send + 's>;

    /// Spawns a leaf: `body` gets plain references to what is declared, and can neither spawn nor wait.
    ///
    /// It runs as soon as everything earlier in reference order that conflicts with it has run; possibly before
    /// `spawn` returns, if it is ready and short.
    ///
    /// The join may be dropped: the scope waits for all its tasks anyway. Misuse (a handle named twice where
    /// that [may not be](crate::Accesses), or in use elsewhere) fails the task, not the spawn.
    ///
    /// Takes O(accesses), however many tasks are outstanding, and allocates nothing but the task's block, which is
    /// recycled; besides what a [`write`](Handle::write) of a datum in use and a [`reduce`](Handle::reduce) cost. Where
    /// the window is full, it makes room first: see [`Builder::window`](crate::Builder::window).
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let (words, count) = (Handle::new("mill pond"), Handle::unset());
    /// rt.scope(|s| {
    ///     s.spawn((words.read(), count.write()), |(words, count)| count.set(words.split(' ').count()));
    /// })?;
    /// assert_eq!(count.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    fn spawn<A, F, O>(&self, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> O + Send + 's,
    {
        self.spawn_with(Options::at(Location::caller()), accesses, body)
    }

    /// Spawns a parent: `body` gets a scope and handles of its own, with at most the declared rights, and spawns
    /// children on them. It reaches a value only by [`wait_on`](Spawn::wait_on). It is complete when its descendants
    /// are.
    ///
    /// Costs what [`spawn`](Spawn::spawn) does. It never runs at its spawn; a body that waits takes a stack from those
    /// kept for that ([`Builder::stack_size`](crate::Builder::stack_size)).
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, n) = (Runtime::new()?, Handle::new(0));
    /// rt.scope(|s| {
    ///     s.nest(n.inout(), |s, n| {
    ///         for _ in 0..3 {
    ///             s.spawn(n.inout(), |n| *n += 1);
    ///         }
    ///     });
    ///     // After the parent, hence after its children.
    ///     s.spawn(n.inout(), |n| *n *= 10);
    /// })?;
    /// assert_eq!(n.into_inner()?, 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    fn nest<A, F, O>(&self, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> O + Send + 's,
    {
        self.nest_with(Options::at(Location::caller()), accesses, body)
    }

    /// Names the task that is spawned next: `s.task("trsm").index([3, 5]).spawn(…)`. Without it, a task goes by the
    /// place of its spawn.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, tile) = (Runtime::new()?, Handle::<f64>::unset());
    /// let result = rt.scope(|s| {
    ///     s.task("scale").spawn(tile.inout(), |x| *x *= 2.0);
    /// });
    /// let text = "task `scale` reads a handle that was never written (access 0)";
    /// assert_eq!(result.unwrap_err().to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    fn task(&self, name: &'static str) -> Task<'_, Self> {
        Task::named(self, name)
    }

    /// A new datum of this scope's own; costs what [`Handle::new`] does. In a body, data between its children:
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, n) = (Runtime::new()?, Handle::new(3));
    /// rt.scope(|s| {
    ///     s.nest(n.inout(), |s, n| {
    ///         let twice = s.handle(2);
    ///         s.spawn((n.read(), twice.inout()), |(n, twice)| *twice *= n);
    ///         s.spawn((n.inout(), twice.read()), |(n, twice)| *n += twice);
    ///     });
    /// })?;
    /// assert_eq!(n.into_inner()?, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn handle<T: Send>(&self, value: T) -> Handle<T, Self::Brand> {
        Handle::with_value(value)
    }

    /// A new datum of this scope's own, without a value: a task must write it first, as in the example of [`Spawn`].
    fn unset<T: Send>(&self) -> Handle<T, Self::Brand> {
        Handle::without_value()
    }

    /// A `write` that is done at once: starts a new version and does not wait. Costs as that
    /// [`write`](Handle::write) does, and no task. Where that one would wait (the handle is
    /// [in place](Handle::in_place), or there is [no room](crate::Builder::rename_bytes) for a new version), this waits as
    /// [`wait_on`](Spawn::wait_on) does. If the handle belongs to another scope, the value is dropped, and this scope
    /// fails as [`Kind::Busy`](crate::Kind::Busy).
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, n) = (Runtime::new()?, Handle::new(1));
    /// rt.scope(|s| {
    ///     let old = s.spawn(n.read(), |n| *n);
    ///     s.set(&n, 2);
    ///     let new = s.spawn(n.read(), |n| *n);
    ///     assert_eq!((s.wait(old)?, s.wait(new)?), (1, 2));
    ///     Ok::<(), millpond::Error>(())
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If an old value that nobody uses any more is dropped, and its drop panics: the panic is passed on, the new value
    /// stands.
    #[track_caller]
    fn set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, Self::Brand, R>, value: T);

    /// As [`set`](Spawn::set) if that need not wait; nothing has changed else, and the value comes back, for a leaf that
    /// writes it when it may. On a stack, it also comes back while a task of this body uses the handle.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, n) = (Runtime::new()?, Handle::new(1).in_place());
    /// rt.scope(|s| {
    ///     let old = s.spawn(n.read(), |n| *n);
    ///     if let Err(two) = s.try_set(&n, 2) {
    ///         s.spawn(n.write(), move |n| n.set(two));
    ///     }
    ///     assert_eq!(s.wait(old)?, 1);
    ///     Ok::<(), millpond::Error>(())
    /// })??;
    /// assert_eq!(n.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The value, if `set` would wait.
    ///
    /// # Panics
    ///
    /// As `set`.
    #[track_caller]
    fn try_set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, Self::Brand, R>, value: T) -> Result<(), T>;

    /// Waits for the tasks spawned so far that conflict, and lends the value. While the value is lent, nothing can be
    /// spawned on the handle. Takes constant time besides the waiting.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, mut rest) = (Runtime::new()?, Handle::new(1.0_f64));
    /// let steps = rt.scope(|s| {
    ///     for steps in 0.. {
    ///         if *s.wait_on(&mut rest)? < 0.1 {
    ///             return Ok::<u32, millpond::Error>(steps);
    ///         }
    ///         s.spawn(rest.inout(), |rest| *rest /= 2.0);
    ///     }
    ///     unreachable!()
    /// })??;
    /// assert_eq!(steps, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no value, as a task that reads it would fail: [`Kind::Poisoned`](crate::Kind::Poisoned), also after
    /// a cancelled task, or [`Kind::NeverWritten`](crate::Kind::NeverWritten). [`Kind::Busy`](crate::Kind::Busy) if
    /// the handle belongs to another scope. Its task is the place of this call, and the scope does not fail with it.
    #[track_caller]
    fn wait_on<'h, T: Send + 's, R: CanRead>(
        &self,
        handle: &'h mut Handle<T, Self::Brand, R>,
    ) -> Result<Ref<'h, T, R>, Error>;

    /// Waits for one task of this scope, and returns its value.
    ///
    /// ```
    /// # use millpond::{Handle, Kind, Runtime, Spawn};
    /// # let (rt, a) = (Runtime::new()?, Handle::new(1));
    /// let failed = rt.scope(|s| {
    ///     let parent = s.nest(a.inout(), |s, a| {
    ///         s.task("child").spawn(a.write(), |_unset| ());
    ///         "the parent's value"
    ///     });
    ///     let error = s.wait(parent).unwrap_err();
    ///     assert_eq!(error.task().name(), Some("child"));
    /// });
    /// assert_eq!(failed.unwrap_err().kind(), &Kind::Unwritten { arg: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The failure of the task, or the first in reference order of its descendants. Any [`Kind`](crate::Kind) but
    /// [`Abandoned`](crate::Kind::Abandoned): a pending task has no join.
    ///
    /// # Panics
    ///
    /// If the join was polled, as a future, until it was ready.
    fn wait<O: Send + 's>(&self, join: Self::Join<O>) -> Result<O, Error>;

    /// Waits for a future, such as the end of another runtime's work. Other tasks run meanwhile.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let session = rt.session();
    /// let theirs = session.spawn((), |()| 6);
    /// let product = rt.scope(|s| {
    ///     let ours = s.spawn((), |()| 7);
    ///     s.block_on(async { Ok::<i32, millpond::Error>(theirs.await? * ours.await?) })
    /// })??;
    /// assert_eq!(product, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the future does.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// The token that cancels this scope, and with it those of its descendants; not the scopes around it.
    ///
    /// ```
    /// # use millpond::{Handle, Kind, Runtime, Spawn};
    /// # let (rt, found) = (Runtime::new()?, Handle::new(0));
    /// let result = rt.scope(|s| {
    ///     s.nest((), |s, ()| {
    ///         s.cancel_token().cancel();
    ///         s.spawn((), |()| unreachable!());
    ///     });
    ///     s.spawn(found.inout(), |n| *n = 1);
    /// });
    /// assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
    /// assert_eq!(found.into_inner()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn cancel_token(&self) -> CancelToken;

    #[doc(hidden)]
    fn spawn_with<A, F, O>(&self, options: Options, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> O + Send + 's;

    #[doc(hidden)]
    fn nest_with<A, F, O>(&self, options: Options, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> O + Send + 's;
}

/// What a spawn may say beyond accesses and body.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub(crate) place: &'static Location<'static>,
    label: Option<Label>,
    pub(crate) bytes: usize,
    pub(crate) priority: i8,
    /// The task shares nothing with anybody but its data, and its body does not wait: nobody can tell whether it runs at its spawn.
    pub(crate) portable: bool,
}

impl Options {
    #[inline]
    pub fn at(place: &'static Location<'static>) -> Self {
        Options { place, label: None, bytes: 0, priority: 0, portable: false }
    }

    /// Of a portable task, which is spawned at `place`.
    #[inline]
    pub fn portable(place: &'static Location<'static>) -> Self {
        Options { portable: true, ..Options::at(place) }
    }

    /// Whether nothing was said that needs extras.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.label.is_none() && self.bytes == 0
    }

    pub(crate) fn extras(&self) -> Extras {
        Extras { id: 0, label: self.label(), bytes: self.bytes }
    }

    /// The same of a task that is recorded.
    pub(crate) fn recorded(&self, id: Id) -> Extras {
        Extras { id, label: self.label(), bytes: self.bytes }
    }

    #[inline]
    pub(crate) fn label(&self) -> Label {
        self.label.unwrap_or(Label::place(self.place))
    }
}

/// A task about to be spawned, with a name; made by [`Spawn::task`] or [`Door::task`](crate::Door::task). What it says
/// is kept in the task's block.
#[must_use = "spawn it"]
#[derive(Clone, Copy, Debug)]
pub struct Task<'a, S> {
    pub(crate) scope: &'a S,
    pub(crate) options: Options,
}

impl<'a, S> Task<'a, S> {
    #[track_caller]
    pub(crate) fn named(scope: &'a S, name: &'static str) -> Self {
        Task { scope, options: Options { label: Some(Label::named(name)), ..Options::at(Location::caller()) } }
    }

    /// Indices behind the name, as in `trsm(3,5)`; at most four, else it does not compile. One beyond `u32` counts as
    /// `u32::MAX`.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, tile) = (Runtime::new()?, Handle::<f64>::unset());
    /// let result = rt.scope(|s| {
    ///     for k in 0..2 {
    ///         s.task("potrf").index([k, k]).spawn(tile.read(), |_| ());
    ///     }
    /// });
    /// assert_eq!(result.unwrap_err().task().to_string(), "potrf(0,0)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index<const N: usize>(mut self, indices: [usize; N]) -> Self {
        const { assert!(N <= MAX_INDICES, "a label holds at most four indices") }
        let indices = indices.map(|index| u32::try_from(index).unwrap_or(u32::MAX));
        self.options.label = self.options.label.map(|label| label.with_indices(&indices));
        self
    }

    /// A hint: tasks of higher priority are taken first. Where a pool does not honour it, its row in the catalogue
    /// says so; the default pool lets positive priorities overtake and treats others as 0. It is about tasks that could
    /// run now: of the commutative tasks that wait for the same datum, it does not say which has it next.
    ///
    /// ```
    /// # use millpond::{Inline, Runtime, Spawn};
    /// # use std::sync::Mutex;
    /// let rt = Runtime::builder().workers(1).inline(Inline::Never).build()?;
    /// let log = Mutex::new(Vec::new());
    /// let note = |name| log.lock().unwrap().push(name);
    /// rt.scope(|s| {
    ///     s.spawn((), |()| note("some"));
    ///     s.task("urgent").priority(1).spawn((), |()| note("urgent"));
    ///     s.spawn((), |()| note("other"));
    /// })?;
    /// assert_eq!(log.lock().unwrap()[0], "urgent");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority(mut self, priority: i8) -> Self {
        self.options.priority = priority;
        self
    }

    /// What the task holds until it is complete and the runtime cannot see, for the window in bytes
    /// ([`Builder::window_bytes`](crate::Builder::window_bytes), where there is an example).
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.options.bytes = bytes;
        self
    }

    /// As [`Spawn::spawn`].
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let answer = rt.scope(|s| s.wait(s.task("answer").spawn((), |()| 42)))??;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn spawn<'s, A, F, O>(self, accesses: A, body: F) -> S::Join<O>
    where
        S: Spawn<'s>,
        A: Accesses<'s, S::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> O + Send + 's,
    {
        self.scope.spawn_with(self.options, accesses, body)
    }

    /// The task is portable ([`Options::portable`]).
    #[doc(hidden)]
    pub fn portable(mut self) -> Self {
        self.options.portable = true;
        self
    }

    /// As [`Spawn::nest`]. A name is its task's own: children go by theirs.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, x) = (Runtime::new()?, Handle::<u8>::unset());
    /// let result = rt.scope(|s| {
    ///     s.task("parent").nest(x.write(), |s, x| {
    ///         s.task("child").spawn(x.write(), |_unset| ());
    ///     });
    /// });
    /// assert_eq!(result.unwrap_err().task().name(), Some("child"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn nest<'s, A, F, O>(self, accesses: A, body: F) -> S::Join<O>
    where
        S: Spawn<'s>,
        A: Accesses<'s, S::Brand>,
        O: Send + 's,
        F: for<'t> FnOnce(&S::Inner<'t>, <A as ArgsOf<'t>>::Held) -> O + Send + 's,
    {
        self.scope.nest_with(self.options, accesses, body)
    }
}
