//! The traits of portable tasks: leaves and parents, both registered.

use super::access::{Declared, Value};
use super::entry::Entry;
use super::fallible::TaskError;
use super::spawn::ParentScope;

/// The arguments of a leaf's [`run`](Portable::run), for its declared accesses.
pub type Args<'t, P> = <<P as Portable>::Access as Declared>::Leaf<'t>;
/// The arguments of a parent's [`run`](PortableParent::run), for its declared accesses.
pub type Handles<'t, P> = <<P as PortableParent>::Access as Declared>::Held<'t>;

/// A task with a name in the registry. Only [`portable!`](crate::portable!) implements it.
#[diagnostic::on_unimplemented(
    message = "portable task `{Self}` is not registered: add `portable!({Self}, \"name\")`",
    label = "not registered",
    note = "other processes know the task by this name; each task has its own name"
)]
pub trait Registered {
    #[doc(hidden)]
    const ENTRY: Entry;
}

/// A leaf that another process can run: a struct of immediate values instead of a closure.
///
/// The values travel with the task. The data in [`Access`](Portable::Access) go where they are
/// needed. A task that runs in its own process is never converted to bytes. A body must use only
/// its fields and its arguments: no globals, and no files of one machine.
///
/// A leaf that panics fails, like any other. If the body returns a `Result`, use
/// [`TryPortable`](super::TryPortable).
///
/// ```
/// use millpond_dist::{Portable, R, Rw, portable};
/// use serde::{Deserialize, Serialize};
///
/// /// `y += factor * x`
/// #[derive(Serialize, Deserialize)]
/// struct Axpy {
///     factor: f64,
/// }
///
/// impl Portable for Axpy {
///     type Access = (R<Vec<f64>>, Rw<Vec<f64>>);
///
///     fn run(self, (x, y): (&Vec<f64>, &mut Vec<f64>)) {
///         y.iter_mut().zip(x).for_each(|(y, x)| *y += self.factor * x);
///     }
/// }
///
/// portable!(Axpy, "blas.axpy");
/// ```
///
/// [`SpawnPortable`](super::SpawnPortable) has an example of a spawn.
#[diagnostic::on_unimplemented(
    message = "a portable leaf is needed here, and `{Self}` is none",
    label = "not a portable leaf",
    note = "closures stay local: make it a serde struct, `impl Portable for` it, and register it with `portable!`"
)]
pub trait Portable: Registered + Value {
    /// Its accesses: [`R`](super::R), [`W`](super::W), [`Rw`](super::Rw), [`Cw`](super::Cw), or a
    /// tuple of up to 8 of these.
    type Access: Declared;

    /// The body. For `R<T>` it gets `&T`, for `W<T>` [`Out<T>`](millpond::Out), for `Rw<T>` `&mut
    /// T`, for `Cw<T, O>` [`Acc<T, O>`](millpond::Acc).
    fn run(self, args: Args<'_, Self>);

    /// The body, which may fail ([`TryPortable`](super::TryPortable)).
    #[doc(hidden)]
    #[inline(always)]
    fn run_to_end(self, args: Args<'_, Self>) -> Result<(), TaskError> {
        self.run(args);
        Ok(())
    }
}

/// A parent that another process can run. It spawns portable tasks, and waits for none.
///
/// To continue with a child's result, spawn a task that reads it. If the body returns a `Result`,
/// use [`TryPortableParent`](super::TryPortableParent).
///
/// ```
/// use millpond::{Handle, Out, Runtime};
/// use millpond_dist::{Handles, ParentScope, Portable, PortableParent, R, SpawnPortable, W, portable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Fib {
///     n: u64,
/// }
///
/// impl PortableParent for Fib {
///     type Access = W<u64>;
///
///     fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
///         if self.n < 2 {
///             return s.set(&r, self.n);
///         }
///         let (a, b) = (s.unset(), s.unset());
///         s.nest_portable(a.write(), Fib { n: self.n - 1 });
///         s.nest_portable(b.write(), Fib { n: self.n - 2 });
///         s.spawn_portable((a.read(), b.read(), r.write()), Sum);
///     }
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Sum;
///
/// impl Portable for Sum {
///     type Access = (R<u64>, R<u64>, W<u64>);
///
///     fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
///         r.set(a + b);
///     }
/// }
///
/// portable!(Fib, "fib");
/// portable!(Sum, "fib.sum");
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (rt, r) = (Runtime::new()?, Handle::unset());
/// rt.scope(|s| {
///     s.nest_portable(r.write(), Fib { n: 15 });
/// })?;
/// assert_eq!(r.into_inner()?, 610);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "a portable parent is needed here, and `{Self}` is none",
    label = "not a portable parent",
    note = "closures stay local: make it a serde struct, `impl PortableParent for` it, and register it with `portable!`"
)]
pub trait PortableParent: Registered + Value {
    /// The accesses of the task and its descendants, like a leaf's [`Access`](Portable::Access).
    type Access: Declared;

    /// The body. It uses the scope `s` to spawn tasks on `handles`, and on its own data.
    fn run<'t>(self, s: &impl ParentScope<'t>, handles: Handles<'t, Self>);

    /// The body, which may fail ([`TryPortableParent`](super::TryPortableParent)).
    #[doc(hidden)]
    #[inline(always)]
    fn run_to_end<'t>(self, s: &impl ParentScope<'t>, handles: Handles<'t, Self>) -> Result<(), TaskError> {
        self.run(s, handles);
        Ok(())
    }
}
