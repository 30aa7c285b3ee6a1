//! What the tests have in common: a limit against hangs.

#[path = "../../../millpond/tests/it/common/limit.rs"]
mod limit;
pub use limit::limit;
