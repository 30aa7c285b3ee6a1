//! Suites about Concurrent Collections (FP §VI).

mod stacks;
mod table;

pub use stacks::SUITE as STACK_ALLOC;
pub use table::SUITE as PRECONDITIONS;
