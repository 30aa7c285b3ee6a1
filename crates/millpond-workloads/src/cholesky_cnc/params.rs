use crate::options::Opt;
use crate::{cholesky, collections};

/// The options of this workload: `cholesky`'s, and the settings of Collections.
pub const OPTIONS: [Opt; 10] = collections::options(cholesky::OPTIONS);
