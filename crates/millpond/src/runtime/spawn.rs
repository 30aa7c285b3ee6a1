//! `Spawn`: the operations of a scope, for any scope and engine.

use std::panic::Location;

use crate::each::{self, ItemsOf};
use crate::error::Error;
use crate::handle::Handle;
use crate::handle::access::{Accesses, ArgsOf, CanRead, CanWrite, In};
use crate::names::TaskName;
use crate::runtime::join::Gathered;
use crate::runtime::outcome::{Boxed, Outcome, Tried};
use crate::runtime::wait_on::Ref;
use crate::worker::cancel::CancelToken;

pub(crate) mod body;
pub(crate) mod combine;
mod inline_leaf;
pub(crate) mod issue;
mod options;
mod recorded;
mod task_builder;
mod with_options;

pub use options::Options;
pub use with_options::Task;

/// A scope of any engine, root or in a body: it spawns tasks and waits for them.
///
/// A function written against this trait works as a whole program, as a part of another task, and
/// on every engine:
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
/// A scope cannot be shared between threads or captured by a task: only its own body spawns, in its
/// own order.
pub trait Spawn<'s>: Sized {
    /// The owner of this scope's handles: [`Root`](crate::Root), or one body. Only the owner spawns
    /// on them.
    type Brand;
    /// The scope of a parent that is spawned here.
    type Inner<'t>: Spawn<'s, Brand = In<'t>>;
    /// The result of a spawn; see [`Join`](crate::Join).
    type Join<O: Send + 's>;

    /// Spawns a leaf: `body` gets plain references to the declared data, and can neither spawn nor
    /// wait.
    ///
    /// It runs as soon as every conflicting task earlier in reference order has released its data.
    /// If it is ready and short, it may run before `spawn` returns.
    ///
    /// The join may be dropped: the scope waits for all its tasks anyway. Misuse fails the task,
    /// not the spawn. Examples are a handle named twice where that [is not
    /// allowed](crate::Accesses), or a handle in use elsewhere.
    ///
    /// Takes O(accesses) time, however many tasks are outstanding. Under the schemes `graph` and
    /// `embedded-graph`, an access also takes a step for each member of the generation before its
    /// own. Allocates only the task's block, which is recycled. A [`write`](Handle::write) of a
    /// datum in use and a [`reduce`](Handle::reduce) cost more. If the window is full, the call
    /// makes room first: see [`Builder::window`](crate::Builder::window).
    ///
    /// A body that returns a `Result` succeeds even with `Err`: the join gives the `Result` as a
    /// value. To let an `Err` fail the task, use [`try_spawn`](Spawn::try_spawn).
    ///
    /// A leaf that blocks, for instance on a channel, keeps its worker. If it waits for a later
    /// task, another worker must run that task, so with one worker both wait forever. Declare an
    /// access to the other task's product instead.
    ///
    /// The closure is moved into the task's block. When it runs, it is moved onto a stack of
    /// [`stack_size`](crate::Builder::stack_size) bytes. So box large captures: without
    /// optimization, a move copies them repeatedly, and a capture of 40 KB needs up to 2.4 MB of
    /// the stack.
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
        self.spawn_with::<A, F, O, O>(Options::at(Location::caller()), accesses, body)
    }

    /// Spawns a leaf whose body may fail. Like [`spawn`](Spawn::spawn), but the body returns a
    /// `Result`, and the join gives its `Ok` value.
    ///
    /// An `Err` fails the task, like a panic: the data that it has declared to change are poisoned,
    /// and the scope returns the failure. Its kind is [`Kind::Failed`](crate::Kind::Failed), and
    /// the body's error is its [`source`](std::error::Error::source).
    ///
    /// Costs the same as `spawn`, plus a check of the result. An `Err` is passed as a value: it
    /// unwinds nothing and calls no panic hook.
    ///
    /// ```
    /// # use millpond::{Handle, Kind, Runtime, Spawn};
    /// use std::error::Error as _;
    ///
    /// # let rt = Runtime::new()?;
    /// let numbers = ["7", "8", "nine"].map(|text| (text, Handle::unset()));
    /// let error = rt.scope(|s| {
    ///     for (text, number) in &numbers {
    ///         s.task("parse").try_spawn(number.write(), move |number| text.parse().map(|n: u32| number.set(n)));
    ///     }
    ///     let (first, second) = (numbers[0].1.read(), numbers[1].1.read());
    ///     let sum = s.try_spawn((first, second), |(a, b)| a.checked_add(*b).ok_or("too large"));
    ///     assert_eq!(s.wait(sum)?, 15);
    ///     Ok::<(), millpond::Error>(())
    /// });
    /// let error = error.unwrap_err();
    /// assert_eq!(error.kind(), &Kind::Failed);
    /// assert!(error.source().unwrap().is::<std::num::ParseIntError>());
    /// assert_eq!(error.to_string(), "task `parse` failed: invalid digit found in string");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    fn try_spawn<A, F, O, X>(&self, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        X: Into<Boxed>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> Result<O, X> + Send + 's,
    {
        self.spawn_with(Options::at(Location::caller()), accesses, move |args| Tried::of(body(args)))
    }

    /// Spawns a parent: `body` gets its own scope and handles, with at most the declared rights,
    /// and spawns children on them. It reaches a value only by [`wait_on`](Spawn::wait_on). The
    /// parent is complete when its descendants are.
    ///
    /// Costs the same as [`spawn`](Spawn::spawn). It never runs at its spawn. A waiting body keeps
    /// one of the stacks reserved for bodies ([`Builder::stack_size`](crate::Builder::stack_size)).
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
        self.nest_with::<A, F, O, O>(Options::at(Location::caller()), accesses, body)
    }

    /// Spawns a parent whose body may fail. Like [`nest`](Spawn::nest), but the body returns a
    /// `Result`, as in [`try_spawn`](Spawn::try_spawn).
    ///
    /// An `Err` cancels nothing: the children spawned before it run. Then the data that the parent
    /// has declared to change are poisoned. The task fails with the first failure of a child that
    /// is no consequence of another failure. If there is none, it fails with this error.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, total) = (Runtime::new()?, Handle::new(0));
    /// let error = rt.scope(|s| {
    ///     s.task("add").try_nest(total.inout(), |s, total| {
    ///         for text in ["1", "2", "three"] {
    ///             let n: i32 = text.parse()?;
    ///             s.spawn(total.inout(), move |total| *total += n);
    ///         }
    ///         Ok::<(), std::num::ParseIntError>(())
    ///     });
    /// });
    /// assert_eq!(error.unwrap_err().to_string(), "task `add` failed: invalid digit found in string");
    /// assert!(total.into_inner().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    fn try_nest<A, F, O, X>(&self, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        X: Into<Boxed>,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> Result<O, X> + Send + 's,
    {
        self.nest_with(Options::at(Location::caller()), accesses, move |scope, handles| Tried::of(body(scope, handles)))
    }

    /// Spawns a parallel loop over declared data: a leaf that runs `body` for each item. Idle
    /// workers join it while it runs ([`for_each`](crate::for_each)).
    ///
    /// The items are the elements of a slice: a loop over `h.inout()` gets each `&mut T` of a
    /// `Vec<T>`, and one over `h.read()` each `&T`. They can also be chunks
    /// ([`h.chunks(n)`](Handle::chunks), [`h.chunks_mut(n)`](Handle::chunks_mut)), a range of
    /// `usize`, or a [`zip`](crate::each::zip) of these. Data that all items read follow in a
    /// tuple:
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn, each};
    /// # let rt = Runtime::new()?;
    /// let (matrix, x) = (Handle::new(vec![1.0; 300 * 200]), Handle::new(vec![2.0; 200]));
    /// let (y, norm) = (Handle::new(vec![0.0_f64; 300]), Handle::unset());
    /// rt.scope(|s| {
    ///     s.for_each(x.inout(), |x| *x += 1.0);
    ///     s.for_each((each::zip(y.inout(), matrix.chunks(200)), x.read()), |((y, row), x)| {
    ///         *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
    ///     });
    ///     s.spawn((y.read(), norm.write()), |(y, norm)| norm.set(y.iter().copied().fold(0.0, f64::max)));
    /// })?;
    /// assert_eq!(norm.into_inner()?, 600.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The loop is one task. So a later task on the data waits for all its items, and the cost is
    /// that of one [`spawn`](Spawn::spawn), however many items there are. If the body panics for an
    /// item, the task fails, and most items that had not begun do not run. A cancelled scope does
    /// not stop a loop that has begun.
    ///
    /// For more than one loop, call [`for_each`](crate::for_each) in a leaf.
    #[track_caller]
    #[inline(always)]
    fn for_each<L, F>(&self, items: L, body: F) -> Self::Join<()>
    where
        L: Accesses<'s, Self::Brand> + for<'t> ItemsOf<'t>,
        F: for<'t> Fn(<L as ItemsOf<'t>>::Item) + Send + Sync + 's,
    {
        let place = Location::caller();
        self.spawn_with::<L, _, (), ()>(Options::at(place), items, move |leaf| each::run(L::items(leaf), body, place))
    }

    /// Names the task that is spawned next: `s.task("trsm").index([3, 5]).spawn(…)`. A task without
    /// a name is identified by the place of its spawn. The name is a `&'static str`, or a `String`
    /// built at run time; for its cost, see [`TaskName`].
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
    fn task(&self, name: impl TaskName) -> Task<'_, Self> {
        Task::named(self, name)
    }

    /// Creates a datum of this scope. Costs the same as [`Handle::new`]. In a body, it serves as
    /// data between the children:
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

    /// Creates a datum of this scope without a value: a task must write it first, as in the example
    /// of [`Spawn`].
    fn unset<T: Send>(&self) -> Handle<T, Self::Brand> {
        Handle::without_value()
    }

    /// Writes a value at once: starts a new version and does not wait. Costs the same as a
    /// [`write`](Handle::write) without its task.
    ///
    /// If such a `write` would wait, this call waits like [`wait_on`](Spawn::wait_on). This happens
    /// if the handle is [in place](Handle::in_place), or if there is [no
    /// room](crate::Builder::rename_bytes) for a new version. If the handle belongs to another
    /// scope, the value is dropped, and this scope fails as [`Kind::Busy`](crate::Kind::Busy). The
    /// same holds while its value is [lent](Handle::get): [`Kind::Lent`](crate::Kind::Lent).
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
    /// If dropping an unused old value panics. The panic is passed on, and the new value is kept.
    #[track_caller]
    fn set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, Self::Brand, R>, value: T);

    /// Like [`set`](Spawn::set), but never waits. If `set` would wait, nothing changes and the
    /// value is returned; spawn a leaf to write it later. On a stack, the value is also returned
    /// while a task of this body uses the handle.
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
    /// The value, if `set` would wait, or if this is a session whose runtime was dropped.
    ///
    /// # Panics
    ///
    /// The same as for `set`.
    #[track_caller]
    fn try_set<T: Send + 's, R: CanWrite>(&self, handle: &Handle<T, Self::Brand, R>, value: T) -> Result<(), T>;

    /// Waits for the conflicting tasks spawned so far, and lends the value. While the value is
    /// lent, nothing can be spawned on the handle. Takes constant time, apart from the wait.
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
    /// The place of this call is the task of the error, and the scope does not fail with it. The
    /// kinds are:
    ///
    /// - [`Kind::Poisoned`](crate::Kind::Poisoned) or
    ///   [`Kind::NeverWritten`](crate::Kind::NeverWritten) if there is no value, as for a task that
    ///   reads it. A cancelled task poisons its data, too.
    /// - [`Kind::Busy`](crate::Kind::Busy) if the handle belongs to another scope.
    /// - [`Kind::Lent`](crate::Kind::Lent) if a loan of its value was forgotten.
    /// - [`Kind::NoStack`](crate::Kind::NoStack) if the body cannot wait.
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
    /// The failure of the task, or the first in reference order of its descendants. All values of
    /// [`Kind`](crate::Kind) are possible except [`Abandoned`](crate::Kind::Abandoned), because a
    /// pending task has no join.
    ///
    /// With [`Kind::NoStack`](crate::Kind::NoStack) the body cannot wait. With
    /// [`Kind::Forked`](crate::Kind::Forked) this is the child of a fork. In both cases the task
    /// has not failed.
    ///
    /// # Panics
    ///
    /// If the join was polled, as a future, until it was ready.
    fn wait<O: Send + 's>(&self, join: Self::Join<O>) -> Result<O, Error>;

    /// Waits for several tasks of this scope, and returns their values in the order of the joins.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// # let rt = Runtime::new()?;
    /// let words = ["mill", "pond", "heron"];
    /// let lengths = rt.scope(|s| s.wait_all(words.map(|word| s.spawn((), move |()| word.len()))))??;
    /// assert_eq!(lengths, [4, 4, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// First it takes all joins out of the iterator. So an iterator that spawns the tasks, as
    /// above, has spawned all of them before the first wait. Then it waits for each one like
    /// [`wait`](Spawn::wait), even after a failure. So no task is left behind, and the error does
    /// not depend on the schedule. Async code uses [`SessionJoin::all`](crate::SessionJoin::all)
    /// for joins of a session.
    ///
    /// # Errors
    ///
    /// The first failure in the order of the joins that is no [consequence](Error) of another one.
    /// If there is no such failure, the first consequence. The values of the other tasks are
    /// dropped. `wait` for the joins one by one to see each failure.
    ///
    /// # Panics
    ///
    /// The same as for `wait`. Also if dropping a value that is not returned panics.
    fn wait_all<O, I>(&self, joins: I) -> Result<Vec<O>, Error>
    where
        O: Send + 's,
        I: IntoIterator<Item = Self::Join<O>>,
    {
        let joins: Vec<_> = joins.into_iter().collect();
        let mut gathered = Gathered::of(joins.len());
        joins.into_iter().for_each(|join| gathered.add(self.wait(join)));
        gathered.result()
    }

    /// Waits for a future, for instance for another runtime's work. Other tasks run meanwhile.
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
    /// If the future panics. Also if it is pending, and the system has no other stack for the
    /// body's worker ([`Kind::NoStack`](crate::Kind::NoStack)).
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// The token that cancels this scope and its descendants' scopes, but not the enclosing scopes.
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

    /// Sets whether the first failure of a task cancels this scope, so that no further task of it
    /// starts. Off by default. A failure that has already happened cancels the scope at once.
    ///
    /// A task of a nested scope counts when it fails, not only when its parent is complete. The
    /// scope returns the first failure in reference order among those that have happened, not
    /// [`Kind::Cancelled`](crate::Kind::Cancelled). Which ones have happened depends on the
    /// schedule. Running bodies continue, as after [`CancelToken::cancel`].
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, log) = (Runtime::builder().workers(1).build()?, Handle::new(Vec::new()));
    /// let error = rt.scope(|s| {
    ///     s.cancel_on_failure(true);
    ///     for n in 0..10 {
    ///         s.task("step").index([n]).try_spawn(log.commutative(), move |log| {
    ///             log.push(n);
    ///             if n < 3 { Ok(()) } else { Err("no more") }
    ///         });
    ///     }
    /// });
    /// assert_eq!(error.unwrap_err().to_string(), "task `step(3)` failed: no more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn cancel_on_failure(&self, cancels: bool);

    #[doc(hidden)]
    fn spawn_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's;

    #[doc(hidden)]
    fn nest_with<A, F, O, R>(&self, options: Options, accesses: A, body: F) -> Self::Join<O>
    where
        A: Accesses<'s, Self::Brand>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Self::Inner<'t>, <A as ArgsOf<'t>>::Held) -> R + Send + 's;
}
