//! Portable tasks: serde structs with registered names, in place of closures.
//!
//! A closure cannot leave its process. A portable task can: serde turns its fields (immediate
//! values) into bytes, and its name identifies the code in the receiving process. Its accesses are
//! declared, as for any task.
//!
//! The body of a [`Portable`] leaf gets references. The body of a [`PortableParent`] gets a scope
//! that spawns only portable tasks. Any scope can [spawn](SpawnPortable) portable tasks among
//! closures. In the same process they run like closures, without conversion to bytes.
//!
//! Processes that exchange tasks use the [`registry`]. It finds tasks by [name](Registry::get),
//! knows their [accesses](Entry::accesses), and converts them [to bytes](encode()) and
//! [back](Registry::decode). A program calls [`check`] first.

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

/// Used by the expansion of [`portable!`](crate::portable!).
#[doc(hidden)]
pub mod private {
    pub use super::entry::LeafOrParent;
    pub use inventory;
}
