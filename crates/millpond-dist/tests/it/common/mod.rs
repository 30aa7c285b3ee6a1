//! Helpers of the tests: a limit against hangs, and reports of expected panics.

#[path = "../../../../millpond/src/limit.rs"]
mod limit;
#[path = "../../../../millpond/tests/it/common/panics.rs"]
mod panics;
pub use limit::limit;
pub use panics::silence_expected_panics;
