pub use crate::uts::Params;

use crate::options::Opt;

/// The options of this workload.
pub const OPTIONS: [Opt; 7] = crate::uts::TREES;
