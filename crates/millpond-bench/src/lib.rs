//! Suites that compare parts of the runtime at the level of nanoseconds. Each scheme has its own
//! engine and is called directly, so that measured times include no dispatch.
//!
//! ```sh
//! cargo run --profile max -p millpond-bench -- spawn
//! ```
//!
//! `millpond bench SUITE` runs these suites too, once this package is built. The package is not a
//! default member of the workspace, because each suite is compiled once for each scheme.
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **TG**: H. Vandierendonck, G. Tzenakis, D. Nikolopoulos, *Analysis of dependence tracking
//!   algorithms for task dataflow execution*, ACM TACO 10(4), 2013.
//! - **DDS**: T. Gautier, J.-L. Roch, F. Wagner, *Fine grain distributed implementation of a
//!   dataflow language with provable performances*, ICCS 2007.
// One instruction needs unsafe code: `cycles`.
#![deny(unsafe_code)]

mod cycles;
#[macro_use]
pub mod engines;
mod reductions;
mod schemes;
mod stack;

use millpond_cli::suites::{self, Suite};
use std::process::ExitCode;

/// Every suite.
pub static SUITES: &[Suite] = &[
    stack::SUITE,
    reductions::SUITE,
    schemes::SPAWN,
    schemes::SLOW_PATH,
    schemes::THREE_GENERATIONS,
    schemes::TASK_SIZE,
    schemes::ARGUMENTS,
    schemes::MATMUL,
    schemes::CHOLESKY,
];

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    suites::main("millpond-bench", "Compare the parts of millpond, each compiled for itself", SUITES)
}
