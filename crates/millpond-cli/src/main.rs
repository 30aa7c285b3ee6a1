//! The `millpond` command: run the jobs, list the parts, measure, profile, simulate.
//!
//! What it prints is a contract: with `--json` one object on stdout and nothing else; a failure or a refusal leaves
//! stdout empty and says what is wrong in one line on stderr. Exit status: 0 verified, 1 the answer is wrong or the
//! run failed, 2 the arguments are wrong.
// One instruction needs it: `bench::schemes::cycles`.
#![deny(unsafe_code)]

mod args;
mod bench;
mod config;
mod failure;
mod families;
mod list;
mod profile;
mod progress;
mod report;
mod rss;
mod run;
mod simulate;
mod stats;
mod suggest;

use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => failure.report(),
    }
}

/// Runs what was asked for; says whether every answer was right.
fn dispatch() -> Result<bool, Failure> {
    millpond_dist::portable::check()?;
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => {
            // Help and version, which were asked for.
            return error.print().map(|()| true).map_err(Failure::output);
        }
        Err(error) => return Err(suggest::refusal(&error)),
    };
    match matches.subcommand() {
        Some(("run", m)) => run::run(m),
        Some(("list", m)) => list::list(m),
        Some(("bench", m)) => bench::bench(m),
        Some(("profile", m)) => profile::profile(m),
        Some(("simulate", m)) => simulate::simulate(m),
        _ => Err(Failure::Usage("expected one of: run, profile, simulate, list, bench".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    /// What `dispatch` checks are the tasks of the workloads: the linker has kept them.
    #[test]
    fn the_portable_tasks_of_the_workloads_are_registered() {
        let registry = millpond_dist::portable::registry().expect("each name is registered once");
        for name in ["fib", "knary.first", "nqueens.place", "stencil.step"] {
            assert_eq!(registry.get(name).expect("a task").name(), name);
        }
    }
}
