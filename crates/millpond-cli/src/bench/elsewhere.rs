//! Suites of another program, `millpond-bench`, which compiles each scheme separately. This takes
//! minutes, so the program is built only on request.

use crate::failure::Failure;
use clap::{Arg, ArgMatches};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program.
const PROGRAM: &str = "millpond-bench";

/// The command that builds it.
const BUILD: &str = "cargo build --profile max -p millpond-bench";

/// Where the program may be, relative to this program's directory. The first place is the output of
/// the command above, whose profile gives the numbers in the documentation. The second is the same
/// directory.
const PLACES: [&str; 2] = ["../max", "."];

/// All arguments after the suite, without parsing.
pub fn args() -> Vec<Arg> {
    let args = Arg::new("args").value_name("OPTIONS").value_parser(clap::value_parser!(OsString));
    vec![args.num_args(0..).trailing_var_arg(true).allow_hyphen_values(true)]
}

/// Runs the suite in place of this program, and returns only if this fails. Skips a file that the
/// system does not start.
pub fn run(suite: &str, matches: &ArgMatches) -> Failure {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => return Failure::Failed(format!("bench {suite}: cannot find {PROGRAM}: {error}")),
    };
    let args: Vec<_> = matches.get_many::<OsString>("args").into_iter().flatten().collect();
    let mut refused = Vec::new();
    for place in PLACES {
        let program = own.parent().unwrap_or(&own).join(place).join(PROGRAM);
        let error = Command::new(&program).arg(suite).args(&args).exec();
        if error.kind() != ErrorKind::NotFound {
            refused.push(format!("cannot run {}: {error}", program.display()));
        }
    }
    Failure::Failed(if refused.is_empty() {
        format!("bench {suite} is a suite of {PROGRAM}, which is not built: {BUILD}")
    } else {
        format!("bench {suite}: {}; to build {PROGRAM}: {BUILD}", refused.join(", "))
    })
}
