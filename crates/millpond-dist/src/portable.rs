//! Portable tasks: a serde struct with a registered name, in place of a closure.

mod access;
mod error;
mod registry;
mod spawn;
mod task;

pub use access::{AccessKind, Declared, Mode, One, R, Rw, Takes, Value, W};
pub use error::Error;
pub use registry::{Decoded, Entry, Place, Registry, Role, check, encode, registry};
pub use spawn::{ParentScope, SpawnPortable};
pub use task::{Args, Handles, Portable, PortableParent, Registered};

/// What [`portable!`](crate::portable!) expands to uses it.
#[doc(hidden)]
pub mod private {
    pub use super::registry::LeafOrParent;
    pub use inventory;
}
