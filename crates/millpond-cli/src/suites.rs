//! The parts of a suite of measurements, for a package with its own suites.
//!
//! ```no_run
//! use millpond_cli::suites::{self, Suite};
//!
//! static SUITES: &[Suite] =
//!     &[Suite::new("nothing", "Measures nothing", Vec::new, |_matches, _reps| Ok(Vec::new()))];
//!
//! fn main() -> std::process::ExitCode {
//!     suites::main("my-bench", "Measurements of mine", SUITES)
//! }
//! ```

pub use crate::args::{MAX_WINDOW, MAX_WORKERS, integer};
pub use crate::bench::options::{cores, names, numbers, wants};
pub use crate::bench::row::Row;
pub use crate::bench::shares::shares;
pub use crate::bench::{Suite, graph, rank_sum, spin};
pub use crate::config::of_scheme;
pub use crate::failure::Failure;
pub use crate::progress::Progress;
pub use crate::stats::{deviation, distribution, greatest, least, mean, median};

use crate::bench::{self, SUITES};
use millpond::catalogue::Registry;
use std::process::ExitCode;

/// The maximum memory of the process during a part of its life.
pub mod rss {
    pub use crate::rss::{peak, reset};
}

/// Runs a command of suites only, with the arguments of the process: `NAME SUITE [options]`.
pub fn main(name: &'static str, about: &'static str, suites: &'static [Suite]) -> ExitCode {
    let registry = Registry::default();
    let mut command = crate::args::suites(name, suites, &registry).about(about).version(env!("CARGO_PKG_VERSION"));
    crate::status(crate::parsed(&mut command, |matches| bench::measure(suites, matches, &registry)))
}

/// The name and the summary of each suite that `millpond bench` lists and another program runs.
pub fn elsewhere() -> impl Iterator<Item = (&'static str, &'static str)> {
    SUITES.iter().filter(|suite| suite.is_elsewhere()).map(|suite| (suite.name, suite.summary))
}
