//! Suites of another program, `millpond-bench`, which is compiled once for each scheme. That takes minutes, so the program
//! is built only when a user asks for it.

use crate::failure::Failure;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program.
const PROGRAM: &str = "millpond-bench";

/// The command that builds it.
const BUILD: &str = "cargo build --profile max -p millpond-bench";

/// Where it may be: beside this program, or where the command above puts it.
const PLACES: [&str; 2] = [".", "../max"];

/// All arguments after the suite, unread.
pub fn args() -> Vec<Arg> {
    let args = Arg::new("args").value_name("OPTIONS").value_parser(clap::value_parser!(OsString));
    vec![args.num_args(0..).trailing_var_arg(true).allow_hyphen_values(true)]
}

/// Runs the suite in place of this program. Returns only if that fails.
pub fn run(suite: &str, matches: &ArgMatches) -> Failure {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => return Failure::Failed(format!("bench {suite}: cannot find {PROGRAM}: {error}")),
    };
    let place = |near: &str| own.parent().unwrap_or(&own).join(near).join(PROGRAM);
    let Some(program) = PLACES.into_iter().map(place).find(|program| program.is_file()) else {
        return Failure::Failed(format!("bench {suite} is a suite of {PROGRAM}, which is not built: {BUILD}"));
    };
    let args = matches.get_many::<OsString>("args").into_iter().flatten();
    let error = Command::new(&program).arg(suite).args(args).exec();
    Failure::Failed(format!("cannot run {}: {error}", program.display()))
}
