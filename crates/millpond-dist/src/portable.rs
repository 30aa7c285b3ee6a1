//! Portable tasks: serde structs with registered names, in place of closures.
//!
//! A closure cannot leave its process. A portable task can: its fields are immediate values, which serde turns into bytes,
//! its name finds the code where it arrives, and what it uses is declared beside it, as for any task. A
//! [`Portable`] leaf gets references, a [`PortableParent`] a scope that spawns portable tasks only. They are
//! [spawned](SpawnPortable) among closures, in any scope; here they run as closures do, and nothing is turned into bytes.
//!
//! For processes that send tasks there is the [`registry`]: tasks by [name](Registry::get), what they
//! [declare](Entry::accesses), [to bytes](encode()) and [back](Registry::decode). A program calls [`check`] first.

mod access;
mod entry;
mod error;
mod fallible;
mod registry;
mod spawn;
mod task;

pub use access::{AccessKind, Cw, Declared, Mode, One, R, Rw, Takes, Value, W};
pub use entry::{Decoded, Entry, Place, Role, encode};
pub use error::Error;
pub use fallible::{TaskError, TryPortable, TryPortableParent};
pub use registry::{Registry, check, registry};
pub use spawn::{ParentScope, ParentTask, SpawnPortable, TaskPortable};
pub use task::{Args, Handles, Portable, PortableParent, Registered};

/// What [`portable!`](crate::portable!) expands to uses it.
#[doc(hidden)]
pub mod private {
    pub use super::entry::LeafOrParent;
    pub use inventory;
}
