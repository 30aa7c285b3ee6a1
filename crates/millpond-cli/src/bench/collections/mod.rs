//! Suites about Concurrent Collections ([FP](crate#sources) §VI).

mod stacks;
mod table;

pub use stacks::SUITE as STACK_ALLOC;
pub use table::SUITE as PRECONDITIONS;
