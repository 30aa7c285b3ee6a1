//! Spawns portable tasks, in scopes of the runtime and in bodies of portable parents.

use std::marker::PhantomData;
use std::panic::Location;

use millpond::internals::{SpawnOptions, Tried};
use millpond::{CanWrite, Handle, In, Spawn, Task, TaskName};

use super::access::{Takes, Value};
use super::task::{Portable, PortableParent};

/// Spawns portable tasks in any scope of the runtime, like its other tasks.
///
/// ```
/// use millpond::{Handle, Out, Runtime, Spawn};
/// use millpond_dist::{Portable, R, SpawnPortable, W, portable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Sum {
///     scale: u64,
/// }
///
/// impl Portable for Sum {
///     type Access = (R<u64>, R<u64>, W<u64>);
///
///     fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
///         r.set((a + b) * self.scale);
///     }
/// }
///
/// portable!(Sum, "fib.sum");
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rt = Runtime::new()?;
/// let (a, b, r) = (Handle::new(1), Handle::new(20), Handle::unset());
/// rt.scope(|s| {
///     s.spawn_portable((a.read(), b.read(), r.write()), Sum { scale: 2 });
///     // A closure, which stays in this process.
///     s.spawn(r.read(), |r| assert_eq!(*r, 42));
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// A portable task owns its fields, but it may use any data of the scope.
pub trait SpawnPortable<'s>: Spawn<'s> {
    /// Spawns a portable leaf, like [`Spawn::spawn`] with a closure, and at the same cost, without
    /// serialisation.
    #[track_caller]
    #[inline(always)]
    fn spawn_portable<A, P>(&self, accesses: A, task: P) -> Self::Join<()>
    where
        P: Portable,
        P::Access: Takes<'s, A, Self::Brand>,
    {
        self.spawn_with(SpawnOptions::portable(Location::caller()), P::Access::take(accesses), move |args| {
            Tried::of(task.run_to_end(args))
        })
    }

    /// Spawns a portable parent, like [`Spawn::nest`] with a closure, and at the same cost. Its
    /// scope is a [`ParentScope`].
    #[track_caller]
    #[inline(always)]
    fn nest_portable<A, P>(&self, accesses: A, task: P) -> Self::Join<()>
    where
        P: PortableParent,
        P::Access: Takes<'s, A, Self::Brand>,
    {
        let options = SpawnOptions::portable(Location::caller());
        self.nest_with(options, P::Access::take(accesses), move |scope, handles| {
            Tried::of(task.run_to_end(&Narrow::of(scope), handles))
        })
    }
}

impl<'s, S: Spawn<'s>> SpawnPortable<'s> for S {}

/// Spawns portable tasks with a name and the other options of [`Spawn::task`]:
/// `s.task("sum").index([3, 5]).priority(1).spawn_portable(…)`.
///
/// ```
/// # use millpond::{Handle, Out, Runtime, Spawn};
/// # use millpond_dist::{Portable, TaskPortable, W, portable};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)]
/// # struct Forget;
/// # impl Portable for Forget {
/// #     type Access = W<u64>;
/// #     fn run(self, _: Out<u64>) {}
/// # }
/// # portable!(Forget, "forget");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (rt, r) = (Runtime::new()?, Handle::unset());
/// let error = rt.scope(|s| {
///     s.task("forget").index([7]).spawn_portable(r.write(), Forget);
/// });
/// assert_eq!(error.unwrap_err().task().to_string(), "forget(7)");
/// # Ok(())
/// # }
/// ```
///
/// This name is for people, as for any task, and independent of the name in the registry.
pub trait TaskPortable<'s> {
    /// The scope of the spawn.
    type Scope: Spawn<'s>;

    /// Like [`SpawnPortable::spawn_portable`].
    #[track_caller]
    fn spawn_portable<A, P>(self, accesses: A, task: P) -> <Self::Scope as Spawn<'s>>::Join<()>
    where
        P: Portable,
        P::Access: Takes<'s, A, <Self::Scope as Spawn<'s>>::Brand>;

    /// Like [`SpawnPortable::nest_portable`].
    #[track_caller]
    fn nest_portable<A, P>(self, accesses: A, task: P) -> <Self::Scope as Spawn<'s>>::Join<()>
    where
        P: PortableParent,
        P::Access: Takes<'s, A, <Self::Scope as Spawn<'s>>::Brand>;
}

impl<'s, S: Spawn<'s>> TaskPortable<'s> for Task<'_, S> {
    type Scope = S;

    #[inline(always)]
    fn spawn_portable<A, P>(self, accesses: A, task: P) -> S::Join<()>
    where
        P: Portable,
        P::Access: Takes<'s, A, S::Brand>,
    {
        self.portable().try_spawn(P::Access::take(accesses), move |args| task.run_to_end(args))
    }

    #[inline(always)]
    fn nest_portable<A, P>(self, accesses: A, task: P) -> S::Join<()>
    where
        P: PortableParent,
        P::Access: Takes<'s, A, S::Brand>,
    {
        self.portable()
            .try_nest(P::Access::take(accesses), move |scope, handles| task.run_to_end(&Narrow::of(scope), handles))
    }
}

/// The scope of a portable parent. It spawns only portable tasks, and cannot wait. So between any
/// two tasks, all remaining work is data: the tasks, and their data.
///
/// `'t` is the lifetime of the body. The body's own handles have the brand [`In<'t>`](In).
///
/// It is not a [`Spawn`], so closures and waits do not compile. [`PortableParent`] has an example.
pub trait ParentScope<'t> {
    /// Spawns a portable leaf; see [`SpawnPortable::spawn_portable`].
    #[track_caller]
    fn spawn_portable<A, P>(&self, accesses: A, task: P)
    where
        P: Portable,
        P::Access: for<'s> Takes<'s, A, In<'t>>;

    /// Spawns a portable parent; see [`SpawnPortable::nest_portable`].
    #[track_caller]
    fn nest_portable<A, P>(&self, accesses: A, task: P)
    where
        P: PortableParent,
        P::Access: for<'s> Takes<'s, A, In<'t>>;

    /// Names the next spawned task; see [`Spawn::task`].
    #[track_caller]
    fn task(&self, name: impl TaskName) -> impl ParentTask<'t>;

    /// Makes a new datum of this scope; see [`Spawn::handle`].
    fn handle<T: Value>(&self, value: T) -> Handle<T, In<'t>>;

    /// Makes a new datum of this scope, without a value; see [`Spawn::unset`].
    fn unset<T: Value>(&self) -> Handle<T, In<'t>>;

    /// Writes a value at once; see [`Spawn::set`]. Use it for small values: long work belongs in a
    /// leaf. If [`Spawn::set`] would wait, this spawns a leaf that holds the value and waits as a
    /// task, because a portable parent never waits.
    #[track_caller]
    fn set<T: Value, R: CanWrite>(&self, handle: &Handle<T, In<'t>, R>, value: T);
}

/// A named portable task, to be spawned by a portable parent; see [`ParentScope::task`].
#[must_use = "spawn it"]
pub trait ParentTask<'t>: Sized {
    /// Adds indices to the name; see [`Task::index`].
    fn index<const N: usize>(self, indices: [usize; N]) -> Self;

    /// Sets a priority, which is a hint; see [`Task::priority`].
    fn priority(self, priority: i8) -> Self;

    /// Adds memory of the task that the runtime cannot see; see [`Task::bytes`].
    fn bytes(self, bytes: usize) -> Self;

    /// Like [`ParentScope::spawn_portable`].
    #[track_caller]
    fn spawn_portable<A, P>(self, accesses: A, task: P)
    where
        P: Portable,
        P::Access: for<'s> Takes<'s, A, In<'t>>;

    /// Like [`ParentScope::nest_portable`].
    #[track_caller]
    fn nest_portable<A, P>(self, accesses: A, task: P)
    where
        P: PortableParent,
        P::Access: for<'s> Takes<'s, A, In<'t>>;
}

/// A scope of the runtime, restricted to [`ParentScope`], or a task of such a scope, restricted to
/// [`ParentTask`].
struct Narrow<'s, S> {
    of: S,
    _scope: PhantomData<fn(&'s ()) -> &'s ()>,
}

impl<S> Narrow<'_, S> {
    fn of(of: S) -> Self {
        Narrow { of, _scope: PhantomData }
    }
}

impl<'s, 't, S: Spawn<'s, Brand = In<'t>>> ParentScope<'t> for Narrow<'s, &S> {
    #[inline(always)]
    fn spawn_portable<A, P>(&self, accesses: A, task: P)
    where
        P: Portable,
        P::Access: for<'x> Takes<'x, A, In<'t>>,
    {
        SpawnPortable::<'s>::spawn_portable(self.of, accesses, task);
    }

    #[inline(always)]
    fn nest_portable<A, P>(&self, accesses: A, task: P)
    where
        P: PortableParent,
        P::Access: for<'x> Takes<'x, A, In<'t>>,
    {
        SpawnPortable::<'s>::nest_portable(self.of, accesses, task);
    }

    fn task(&self, name: impl TaskName) -> impl ParentTask<'t> {
        Narrow::<'s, _>::of(self.of.task(name))
    }

    fn handle<T: Value>(&self, value: T) -> Handle<T, In<'t>> {
        self.of.handle(value)
    }

    #[inline(always)]
    fn unset<T: Value>(&self) -> Handle<T, In<'t>> {
        self.of.unset()
    }

    fn set<T: Value, R: CanWrite>(&self, handle: &Handle<T, In<'t>, R>, value: T) {
        if let Err(value) = self.of.try_set(handle, value) {
            self.of.spawn(handle.write(), move |out| out.set(value));
        }
    }
}

impl<'s, 't, S: Spawn<'s, Brand = In<'t>>> ParentTask<'t> for Narrow<'s, Task<'_, S>> {
    fn index<const N: usize>(self, indices: [usize; N]) -> Self {
        Narrow::of(self.of.index(indices))
    }

    fn priority(self, priority: i8) -> Self {
        Narrow::of(self.of.priority(priority))
    }

    fn bytes(self, bytes: usize) -> Self {
        Narrow::of(self.of.bytes(bytes))
    }

    #[inline(always)]
    fn spawn_portable<A, P>(self, accesses: A, task: P)
    where
        P: Portable,
        P::Access: for<'x> Takes<'x, A, In<'t>>,
    {
        TaskPortable::<'s>::spawn_portable(self.of, accesses, task);
    }

    #[inline(always)]
    fn nest_portable<A, P>(self, accesses: A, task: P)
    where
        P: PortableParent,
        P::Access: for<'x> Takes<'x, A, In<'t>>,
    {
        TaskPortable::<'s>::nest_portable(self.of, accesses, task);
    }
}
