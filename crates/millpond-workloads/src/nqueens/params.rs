pub use crate::number::Params;

use crate::form::TASKS;
use crate::number;
use crate::options::Opt;

/// The maximum order of a board with a known answer.
const MAX_N: u64 = 27;

/// The options of this workload.
pub const OPTIONS: [Opt; 3] = [
    number::n("Rows and columns of the board", (1, MAX_N), 11),
    number::cutoff("Fill the last rows, up to this many, without tasks", MAX_N),
    TASKS,
];
