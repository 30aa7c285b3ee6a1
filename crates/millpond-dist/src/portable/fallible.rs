//! Portable tasks whose bodies may fail.

use super::access::{Declared, Value};
use super::spawn::ParentScope;
use super::task::{Args, Handles, Portable, PortableParent, Registered};

/// An error of any type, from the body of a task.
pub type TaskError = Box<dyn std::error::Error + Send + Sync>;

/// A [`Portable`] leaf whose body may fail. An `Err` fails the task; see
/// [`Spawn::try_spawn`](millpond::Spawn::try_spawn).
///
/// It is registered and spawned like any portable leaf.
///
/// ```
/// use millpond::{Handle, Kind, Out, Runtime};
/// use millpond_dist::{R, SpawnPortable, TaskError, TryPortable, W, portable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Parse;
///
/// impl TryPortable for Parse {
///     type Access = (R<String>, W<u32>);
///
///     fn try_run(self, (text, number): (&String, Out<u32>)) -> Result<(), TaskError> {
///         number.set(text.parse()?);
///         Ok(())
///     }
/// }
///
/// portable!(Parse, "parse");
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (rt, text, number) = (Runtime::new()?, Handle::new("ten".to_string()), Handle::unset());
/// let error = rt.scope(|s| drop(s.spawn_portable((text.read(), number.write()), Parse))).unwrap_err();
/// assert_eq!(error.kind(), &Kind::Failed);
/// # Ok(())
/// # }
/// ```
pub trait TryPortable: Registered + Value {
    /// Like [`Portable::Access`].
    type Access: Declared;

    /// The body, like [`Portable::run`].
    ///
    /// # Errors
    ///
    /// Any error. The task fails with it.
    fn try_run(self, args: <Self::Access as Declared>::Leaf<'_>) -> Result<(), TaskError>;
}

#[diagnostic::do_not_recommend]
impl<P: TryPortable> Portable for P {
    type Access = <P as TryPortable>::Access;

    #[inline(always)]
    fn run(self, args: Args<'_, Self>) {
        self.try_run(args).unwrap_or_else(|error| panic!("{error}"));
    }

    #[inline(always)]
    fn run_to_end(self, args: Args<'_, Self>) -> Result<(), TaskError> {
        self.try_run(args)
    }
}

/// A [`PortableParent`] whose body may fail. An `Err` fails the task; see
/// [`Spawn::try_nest`](millpond::Spawn::try_nest).
///
/// ```
/// use millpond::{Handle, Runtime};
/// use millpond_dist::{Handles, ParentScope, Rw, SpawnPortable, TaskError, TryPortableParent, portable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Split {
///     parts: u32,
/// }
///
/// impl TryPortableParent for Split {
///     type Access = Rw<u32>;
///
///     fn try_run<'t>(self, s: &impl ParentScope<'t>, total: Handles<'t, Self>) -> Result<(), TaskError> {
///         let each = 100_u32.checked_div(self.parts).ok_or("no parts")?;
///         s.set(&total, each);
///         Ok(())
///     }
/// }
///
/// portable!(Split, "split");
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (rt, total) = (Runtime::new()?, Handle::new(0));
/// let error = rt.scope(|s| drop(s.nest_portable(total.inout(), Split { parts: 0 }))).unwrap_err();
/// assert!(error.to_string().ends_with("failed: no parts"));
/// # Ok(())
/// # }
/// ```
pub trait TryPortableParent: Registered + Value {
    /// Like [`PortableParent::Access`].
    type Access: Declared;

    /// The body, like [`PortableParent::run`].
    ///
    /// # Errors
    ///
    /// Any error. The task fails with it. Children spawned before still run.
    fn try_run<'t>(
        self,
        s: &impl ParentScope<'t>,
        handles: <Self::Access as Declared>::Held<'t>,
    ) -> Result<(), TaskError>;
}

#[diagnostic::do_not_recommend]
impl<P: TryPortableParent> PortableParent for P {
    type Access = <P as TryPortableParent>::Access;

    #[inline(always)]
    fn run<'t>(self, s: &impl ParentScope<'t>, handles: Handles<'t, Self>) {
        self.try_run(s, handles).unwrap_or_else(|error| panic!("{error}"));
    }

    #[inline(always)]
    fn run_to_end<'t>(self, s: &impl ParentScope<'t>, handles: Handles<'t, Self>) -> Result<(), TaskError> {
        self.try_run(s, handles)
    }
}
