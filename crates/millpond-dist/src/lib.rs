//! Tasks of [millpond] that another process can run.
//!
//! [`mod@portable`]: a task as a serde struct with a registered name, in place of a closure.

#![forbid(unsafe_code)]

pub mod portable;

/// The programs of the chapter, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/portable.md")]
struct Chapter;

pub use portable::{
    Args, Cw, Handles, ParentScope, ParentTask, Portable, PortableParent, R, Registered, Rw, SpawnPortable, TaskError,
    TaskPortable, TryPortable, TryPortableParent, W,
};
