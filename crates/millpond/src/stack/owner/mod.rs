//! The work of a stack's owner: pushing closures, running them, waiting for them.

mod ahead;
pub(super) mod at_spawn;
pub(super) mod inline_subtree;
pub(super) mod parent;
mod parent_code;
pub(super) mod room;
pub(super) mod run;
pub(super) mod scope;
pub(super) mod spawn;
pub(super) mod waiters;
