//! The `millpond` command as a library: it runs jobs, lists parts, measures, profiles and
//! simulates.
//!
//! A program with its own parts in a [`Registry`] gets the whole command with them. A new scheme,
//! pool or memory manager has a name in `list`, `run`, `profile`, and the suites of `bench` that
//! choose at run time. This program has one of each:
//!
//! ```no_run
//! # use millpond_extension_tests as my_parts;
//! use millpond::catalogue::{Registry, Row};
//! use my_parts::{memory::Malloc, pool::RoundRobin, scheme::Queues};
//!
//! fn main() -> std::process::ExitCode {
//!     let scheme = Row::of_scheme::<Queues>("a queue per version", "my crate");
//!     let pool = Row::of_pool::<RoundRobin>("a locked deque per worker", "my crate");
//!     let memory = Row::of_memory::<Malloc>("the global allocator", "my crate");
//!     let registry = Registry::default()
//!         .with_scheme::<Queues>(scheme)
//!         .and_then(|registry| registry.with_pool::<RoundRobin>(pool))
//!         .and_then(|registry| registry.with_memory::<Malloc>(memory));
//!     millpond_cli::main(registry.expect("the names are valid and new"))
//! }
//! ```
//!
//! The output is a contract. With `--json` the command prints one object on stdout and nothing
//! else. A failure or a usage error leaves stdout empty and prints one line on stderr. If the
//! answer is verified, the exit status is 0. If the answer is wrong or the run failed, it is 1. If
//! the arguments are wrong, it is 2.
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **TG**: H. Vandierendonck, G. Tzenakis, D. Nikolopoulos, *Analysis of dependence tracking
//!   algorithms for task dataflow execution*, ACM TACO 10(4), 2013.
//! - **TP**: M. Korch, T. Rauber, *A comparison of task pools for dynamic load balancing of
//!   irregular algorithms*, Concurrency and Computation: Practice and Experience 16(1), 2004.
//! - **FP**: D. Sbîrlea, A. Sbîrlea, K. Wheeler, V. Sarkar, *The flexible preconditions model for
//!   macro-dataflow execution*, DFM 2013.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod config;
mod failure;
mod families;
mod line;
mod list;
mod profile;
mod progress;
mod recording;
mod report;
mod rss;
mod run;
mod simulate;
mod stats;
mod suggest;
pub mod suites;
mod tuning;

use clap::{ArgMatches, Command};
use failure::Failure;
use millpond::catalogue::Registry;
use std::process::ExitCode;

/// Runs the command with the arguments of the process and the parts of the registry.
pub fn main(registry: Registry) -> ExitCode {
    let registered = millpond_dist::portable::check().map_err(Failure::from);
    status(registered.and_then(|()| parsed(&mut args::command(&registry), |matches| dispatch(matches, &registry))))
}

/// Parses the arguments of the process for a command, and runs it.
fn parsed(command: &mut Command, run: impl FnOnce(&ArgMatches) -> Result<bool, Failure>) -> Result<bool, Failure> {
    match command.try_get_matches_from_mut(std::env::args_os()) {
        Ok(matches) => run(&matches),
        // Help and version.
        Err(error) if !error.use_stderr() => error.print().map(|()| true).map_err(Failure::output),
        Err(error) => Err(suggest::refusal(&error, command)),
    }
}

/// The exit status of a command. `Ok` says whether every answer was correct.
fn status(ran: Result<bool, Failure>) -> ExitCode {
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => failure.report(),
    }
}

/// Runs the subcommand. Returns whether every answer was correct.
fn dispatch(matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    match matches.subcommand() {
        Some(("run", m)) => run::run(m, registry),
        Some(("list", m)) => list::list(m, registry),
        Some(("bench", m)) => bench::bench(m, registry),
        Some(("profile", m)) => profile::profile(m, registry),
        Some(("simulate", m)) => simulate::simulate(m),
        _ => Err(Failure::Usage("expected one of: run, profile, simulate, list, bench".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    /// `main` checks the workloads' tasks, so the linker must keep them.
    #[test]
    fn the_portable_tasks_of_the_workloads_are_registered() {
        let registry = millpond_dist::portable::registry().expect("each name is registered once");
        for name in ["fib", "knary.first", "nqueens.place", "stencil.step"] {
            assert_eq!(registry.get(name).expect("a task").name(), name);
        }
    }
}
