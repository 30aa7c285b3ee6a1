//! Tasks that wait for something outside the runtime: events, futures, values that other threads
//! set.

pub(crate) mod admission;
pub(crate) mod future;
pub(crate) mod scope_handle;
pub(crate) mod tasks;
pub(super) mod waker;
