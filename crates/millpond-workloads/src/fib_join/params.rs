pub use crate::fib::Params;

use crate::options::Opt;

/// The options of this workload.
pub const OPTIONS: [Opt; 2] = crate::fib::SIZES;
