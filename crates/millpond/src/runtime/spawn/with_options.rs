//! Tasks spawned with a name and other options.

use std::panic::Location;

use super::{Options, Spawn};
use crate::each::{self, ItemsOf};
use crate::error::{Label, MAX_INDICES};
use crate::handle::access::{Accesses, ArgsOf};
use crate::names::TaskName;
use crate::runtime::outcome::{Boxed, Tried};

/// A task to be spawned, with a name. Made by [`Spawn::task`] or
/// [`ExternalTasks::task`](crate::ExternalTasks::task). Its options are kept in the task's block.
#[must_use = "spawn it"]
#[derive(Clone, Copy, Debug)]
pub struct Task<'a, S> {
    pub(crate) scope: &'a S,
    pub(crate) options: Options,
}

impl<'a, S> Task<'a, S> {
    #[track_caller]
    pub(crate) fn named(scope: &'a S, name: impl TaskName) -> Self {
        let place = Location::caller();
        let label = name.keep().map_or(Label::place(place), Label::named);
        Task { scope, options: Options { label: Some(label), ..Options::at(place) } }
    }

    /// Adds indices to the name, as in `trsm(3,5)`. With more than four it does not compile. A
    /// value above `u32::MAX` counts as `u32::MAX`.
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

    /// A hint: tasks of higher priority are taken first. In the default pool, positive priorities
    /// overtake, and others count as 0. The catalogue says which pools ignore the hint.
    ///
    /// The hint affects tasks that could run now. If commutative tasks wait for the same datum, it
    /// does not determine which one is next.
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

    /// Declares the bytes that the task holds until it is complete, for the window in bytes. Count
    /// memory that the runtime does not see. Data left in a handle no longer counts when the task
    /// is complete. [`Builder::window_bytes`](crate::Builder::window_bytes) shows how to limit a
    /// pipeline.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.options.bytes = bytes;
        self
    }

    /// Like [`Spawn::spawn`].
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
        self.scope.spawn_with::<A, F, O, O>(self.options, accesses, body)
    }

    /// Like [`Spawn::try_spawn`].
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let error = rt.scope(|s| {
    ///     s.task("read").index([7]).try_spawn((), |()| std::fs::read("/no/such/file").map(|bytes| bytes.len()));
    /// });
    /// assert!(error.unwrap_err().to_string().starts_with("task `read(7)` failed: No such file"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn try_spawn<'s, A, F, O, X>(self, accesses: A, body: F) -> S::Join<O>
    where
        S: Spawn<'s>,
        A: Accesses<'s, S::Brand>,
        O: Send + 's,
        X: Into<Boxed>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> Result<O, X> + Send + 's,
    {
        self.scope.spawn_with(self.options, accesses, move |args| Tried::of(body(args)))
    }

    /// Like [`Spawn::for_each`].
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, numbers) = (Runtime::new()?, Handle::new(vec![1, 2, 3]));
    /// rt.scope(|s| {
    ///     s.task("double").for_each(numbers.inout(), |n| *n *= 2);
    /// })?;
    /// assert_eq!(numbers.into_inner()?, [2, 4, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn for_each<'s, L, F>(self, items: L, body: F) -> S::Join<()>
    where
        S: Spawn<'s>,
        L: Accesses<'s, S::Brand> + for<'t> ItemsOf<'t>,
        F: for<'t> Fn(<L as ItemsOf<'t>>::Item) + Send + Sync + 's,
    {
        let place = Location::caller();
        self.scope.spawn_with::<L, _, (), ()>(self.options, items, move |leaf| each::run(L::items(leaf), body, place))
    }

    /// Like [`Spawn::try_nest`].
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let answer = rt.scope(|s| {
    ///     let join = s.task("answer").try_nest((), |s, ()| s.wait(s.spawn((), |()| 42)));
    ///     s.wait(join)
    /// })??;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn try_nest<'s, A, F, O, X>(self, accesses: A, body: F) -> S::Join<O>
    where
        S: Spawn<'s>,
        A: Accesses<'s, S::Brand>,
        O: Send + 's,
        X: Into<Boxed>,
        F: for<'t> FnOnce(&S::Inner<'t>, <A as ArgsOf<'t>>::Held) -> Result<O, X> + Send + 's,
    {
        self.scope.nest_with(self.options, accesses, move |scope, handles| Tried::of(body(scope, handles)))
    }

    /// Makes the task portable ([`Options::portable`]).
    #[doc(hidden)]
    pub fn portable(mut self) -> Self {
        self.options.portable = true;
        self
    }

    /// Like [`Spawn::nest`]. The name applies only to this task, not to its children.
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
        self.scope.nest_with::<A, F, O, O>(self.options, accesses, body)
    }
}
