//! How a thief uses the stacks of others: it finds one, scans it, steals closures and runs them.

pub(super) mod adaptive;
pub(super) mod batches;
pub(super) mod owner_lock;
pub(crate) mod policy;
pub(super) mod request;
pub(super) mod resume;
pub(super) mod scan;
pub(super) mod search;
pub(super) mod stacks;
pub(super) mod theft;
