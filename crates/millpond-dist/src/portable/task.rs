//! What a portable task is: a leaf or a parent, both registered.

use super::access::{Declared, Value};
use super::registry::Entry;
use super::spawn::ParentScope;

/// What a leaf's [`run`](Portable::run) gets for the accesses that it declares.
pub type Args<'t, P> = <<P as Portable>::Access as Declared>::Leaf<'t>;
/// What a parent's [`run`](PortableParent::run) gets for the accesses that it declares.
pub type Handles<'t, P> = <<P as PortableParent>::Access as Declared>::Held<'t>;

/// A struct that stands in the registry under a name. Implemented by [`portable!`](crate::portable!) and nothing else.
#[diagnostic::on_unimplemented(
    message = "portable task `{Self}` is not registered: add `portable!({Self}, \"name\")`",
    label = "not registered",
    note = "the name is what other processes know the task by; each task has a name of its own"
)]
pub trait Registered {
    #[doc(hidden)]
    const ENTRY: Entry;
}

/// A leaf that another process can run: a struct of immediate values in place of a closure.
#[diagnostic::on_unimplemented(
    message = "a portable leaf is needed here, and `{Self}` is none",
    label = "not a portable leaf",
    note = "closures stay local: make it a serde struct, `impl Portable for` it, and register it with `portable!`"
)]
pub trait Portable: Registered + Value {
    /// What it does to which data: [`R`](super::R), [`W`](super::W), [`Rw`](super::Rw), or a tuple of up to 8 of them.
    type Access: Declared;

    /// The body.
    fn run(self, args: Args<'_, Self>);
}

/// A parent that another process can run: it spawns portable tasks.
#[diagnostic::on_unimplemented(
    message = "a portable parent is needed here, and `{Self}` is none",
    label = "not a portable parent",
    note = "closures stay local: make it a serde struct, `impl PortableParent for` it, and register it with `portable!`"
)]
pub trait PortableParent: Registered + Value {
    /// What it and its descendants do to which data, as a leaf's [`Access`](Portable::Access).
    type Access: Declared;

    /// The body. `s` is the scope, with which it spawns on `handles`, and on data of its own.
    fn run<'t>(self, s: &impl ParentScope<'t>, handles: Handles<'t, Self>);
}
