//! What a thief does with the stacks of others: find one, scan it, steal closures, run them.

pub(super) mod adaptive;
pub(super) mod owner_lock;
pub mod policy;
pub(super) mod resume;
pub(super) mod scan;
pub(super) mod search;
pub(super) mod stacks;
pub(super) mod theft;
