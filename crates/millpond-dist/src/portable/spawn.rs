//! Spawning portable tasks, in scopes of the runtime and in bodies of portable parents.

use std::marker::PhantomData;

use millpond::{CanWrite, Handle, In, Spawn};

use super::access::{Takes, Value};
use super::task::{Portable, PortableParent};

/// Spawns portable tasks in any scope of the runtime, among its other tasks.
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
/// Portable tasks own what they hold, but what they use may be any data of the scope.
pub trait SpawnPortable<'s>: Spawn<'s> {
    /// Spawns a portable leaf, as [`Spawn::spawn`] does a closure, and at the same cost: nothing is serialised.
    #[track_caller]
    #[inline(always)]
    fn spawn_portable<A, P>(&self, accesses: A, task: P) -> Self::Join<()>
    where
        P: Portable,
        P::Access: Takes<'s, A, Self::Brand>,
    {
        self.spawn(P::Access::take(accesses), move |args| task.run(args))
    }

    /// Spawns a portable parent, as [`Spawn::nest`] does a closure, and at the same cost. Its scope is a [`ParentScope`].
    #[track_caller]
    fn nest_portable<A, P>(&self, accesses: A, task: P) -> Self::Join<()>
    where
        P: PortableParent,
        P::Access: Takes<'s, A, Self::Brand>,
    {
        self.nest(P::Access::take(accesses), move |scope, handles| {
            task.run(&Narrow { scope, _of: PhantomData }, handles)
        })
    }
}

impl<'s, S: Spawn<'s>> SpawnPortable<'s> for S {}

/// The scope of a portable parent: portable tasks only, and no waiting, so that at each border between tasks all that is
/// left to do is data: tasks, and the data that they use.
///
/// `'t` is the life of the body; handles that are its own have the brand [`In<'t>`](In).
///
/// It is not a [`Spawn`], so that closures and waiting do not compile. [`PortableParent`] has an example.
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

    /// A new datum of this scope's own; see [`Spawn::handle`].
    fn handle<T: Value>(&self, value: T) -> Handle<T, In<'t>>;

    /// A new datum of this scope's own, without a value; see [`Spawn::unset`].
    fn unset<T: Value>(&self) -> Handle<T, In<'t>>;

    /// A `write` that is done at once; see [`Spawn::set`]. For small values: what takes long belongs in a leaf.
    #[track_caller]
    fn set<T: Value, R: CanWrite>(&self, handle: &Handle<T, In<'t>, R>, value: T);
}

/// A scope of the runtime of which only [`ParentScope`] is left.
struct Narrow<'a, 's, S> {
    scope: &'a S,
    _of: PhantomData<fn(&'s ()) -> &'s ()>,
}

impl<'s, 't, S: Spawn<'s, Brand = In<'t>>> ParentScope<'t> for Narrow<'_, 's, S> {
    #[inline(always)]
    fn spawn_portable<A, P>(&self, accesses: A, task: P)
    where
        P: Portable,
        P::Access: for<'x> Takes<'x, A, In<'t>>,
    {
        SpawnPortable::<'s>::spawn_portable(self.scope, accesses, task);
    }

    fn nest_portable<A, P>(&self, accesses: A, task: P)
    where
        P: PortableParent,
        P::Access: for<'x> Takes<'x, A, In<'t>>,
    {
        SpawnPortable::<'s>::nest_portable(self.scope, accesses, task);
    }

    fn handle<T: Value>(&self, value: T) -> Handle<T, In<'t>> {
        self.scope.handle(value)
    }

    fn unset<T: Value>(&self) -> Handle<T, In<'t>> {
        self.scope.unset()
    }

    fn set<T: Value, R: CanWrite>(&self, handle: &Handle<T, In<'t>, R>, value: T) {
        self.scope.set(handle, value);
    }
}
