//! `Spawn`: what a program does in a scope, whatever scope and engine it is.

use std::panic::Location;

use crate::access::{Accesses, ArgsOf, CanRead, CanWrite, In};
use crate::error::{Error, Label, MAX_INDICES};
use crate::handle::Handle;
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
    /// The join may be dropped: the scope waits for all its tasks anyway. Misuse (a handle named twice, or in use
    /// elsewhere) fails the task, not the spawn.
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
    fn task(&self, name: &'static str) -> Task<'_, Self> {
        let mut options = Options::at(Location::caller());
        options.label = Some(Label::named(name));
        Task { scope: self, options }
    }

    /// A new datum of this scope's own.
    fn handle<T: Send>(&self, value: T) -> Handle<T, Self::Brand> {
        Handle::with_value(value)
    }

    /// A new datum of this scope's own, without a value: a task must write it first.
    fn unset<T: Send>(&self) -> Handle<T, Self::Brand> {
        Handle::without_value()
    }

    /// A `write` that is done at once: starts a new version and never waits.
    #[track_caller]
    fn set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, Self::Brand, R>, value: T);

    /// Waits for the tasks spawned so far that conflict, and lends the value. While the value is lent, nothing can be
    /// spawned on the handle.
    ///
    /// # Errors
    ///
    /// If there is no value: as a task that reads it would fail.
    #[track_caller]
    fn wait_on<'h, T: Send + 's, R: CanRead>(
        &self,
        handle: &'h mut Handle<T, Self::Brand, R>,
    ) -> Result<Ref<'h, T, R>, Error>;

    /// Waits for one task of this scope, and returns its value.
    ///
    /// # Errors
    ///
    /// The failure of the task, or the first in reference order of its descendants.
    fn wait<O: Send + 's>(&self, join: Self::Join<O>) -> Result<O, Error>;

    /// Waits for a future, such as the end of another runtime's work. Other tasks run meanwhile.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// The token that cancels this scope.
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
}

impl Options {
    #[inline]
    pub(crate) fn at(place: &'static Location<'static>) -> Self {
        Options { place, label: None, bytes: 0, priority: 0 }
    }

    #[inline]
    pub(crate) fn extras(&self) -> Option<Extras> {
        if self.label.is_none() && self.bytes == 0 {
            return None;
        }
        Some(Extras { label: self.label(), bytes: self.bytes })
    }

    #[inline]
    pub(crate) fn label(&self) -> Label {
        self.label.unwrap_or(Label::place(self.place))
    }
}

/// A task about to be spawned, with a name; made by [`Spawn::task`].
#[must_use = "spawn it"]
#[derive(Clone, Copy, Debug)]
pub struct Task<'a, S> {
    scope: &'a S,
    options: Options,
}

impl<'a, S> Task<'a, S> {
    /// Indices behind the name, as in `trsm(3,5)`; the first four are kept.
    pub fn index<const N: usize>(mut self, indices: [usize; N]) -> Self {
        const { assert!(N <= MAX_INDICES, "a label holds at most four indices") }
        let indices = indices.map(|index| u32::try_from(index).unwrap_or(u32::MAX));
        self.options.label = self.options.label.map(|label| label.with_indices(&indices));
        self
    }

    /// A hint: tasks of higher priority are taken first. Where a pool does not honour it, its row in the catalogue
    /// says so; the default pool lets positive priorities overtake and treats others as 0.
    pub fn priority(mut self, priority: i8) -> Self {
        self.options.priority = priority;
        self
    }

    /// What the task holds until it is complete and the runtime cannot see, for the window in bytes
    /// ([`Builder::window_bytes`](crate::Builder::window_bytes)).
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.options.bytes = bytes;
        self
    }

    /// As [`Spawn::spawn`].
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

    /// As [`Spawn::nest`].
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
