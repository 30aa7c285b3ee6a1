//! The command line, made from the tables of suites and runtimes.

use crate::runtimes::{RUNTIMES, ceiling};
use crate::suites::SUITES;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};
use std::path::PathBuf;

/// The whole command.
pub fn command() -> Command {
    let suites = PossibleValuesParser::new(SUITES.iter().map(|suite| suite.name));
    let runtimes = PossibleValuesParser::new(RUNTIMES.iter().map(|runtime| runtime.name));
    let mut shapes = Vec::new();
    for (name, _) in SUITES.iter().flat_map(|suite| suite.shapes) {
        if !shapes.contains(name) {
            shapes.push(*name);
        }
    }
    let many = |name, value, help| Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help);
    let file =
        |name, help| Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(help);
    let flag = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    Command::new("millpond-peers")
        .version(env!("CARGO_PKG_VERSION"))
        .about("The same task graphs on millpond and on other runtimes, alternating")
        .after_help(after_help())
        .arg(many("suite", "NAME", "Run this suite only; may be repeated").value_parser(suites))
        .arg(
            many("shape", "NAME", "Run this graph only; may be repeated")
                .value_parser(PossibleValuesParser::new(shapes)),
        )
        .arg(many("runtime", "NAME", "Run this runtime only, beside millpond; may be repeated").value_parser(runtimes))
        .arg(
            many("workers", "N", "With that many workers; may be repeated [default: 1 and 2; with bodies, 2]")
                .value_parser(value_parser!(u64).range(1..=1024)),
        )
        .arg(
            Arg::new("reps")
                .long("reps")
                .value_name("R")
                .value_parser(value_parser!(u64).range(1..=1000))
                .help("Runs of each point [default: 15; with --quick, 2]"),
        )
        .arg(flag("quick", "Small graphs and few runs: do all of them work?"))
        .arg(flag("json", "Print one JSON object"))
        .arg(file("csv", "Write the rows to FILE as CSV"))
        .arg(file("svg", "Draw the rows to FILE"))
        .arg(flag(ceiling::WORKER, "Be a process of the ceiling, which answers lines of stdin").hide(true))
}

fn after_help() -> String {
    let mut text = "Suites:\n".to_owned();
    for suite in SUITES {
        text += &format!("  {:<17}{}\n", suite.name, suite.summary);
    }
    text += "\nRuntimes:\n";
    for runtime in RUNTIMES {
        let here = if runtime.missing().is_some() { " (not here)" } else { "" };
        text += &format!("  {:<17}{}{here}\n", runtime.name, runtime.summary);
    }
    text
}

/// The error of the command line in one line: clap's message and hints, without its advice on
/// usage.
pub fn refusal(error: &clap::Error) -> String {
    let text = error.to_string();
    let told = |line: &&str| !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more");
    let lines: Vec<_> = text.lines().map(str::trim).filter(told).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_make_a_sound_command() {
        command().debug_assert();
    }

    #[test]
    fn refusals_are_one_line_with_the_nearest_name() {
        let refused = |words: &[&str]| {
            let words = ["millpond-peers"].iter().chain(words);
            refusal(&command().try_get_matches_from(words).expect_err("nonsense"))
        };
        for (words, nearest) in [
            (&["--shape", "cholesk"][..], "cholesky"),
            (&["--runtime", "one-tbb"], "onetbb"),
            (&["--suit", "empty"], "--suite"),
            (&["--workers", "0"], "1..=1024"),
        ] {
            let line = refused(words);
            assert!(line.contains(nearest) && !line.contains('\n') && line.starts_with("error: "), "{line}");
        }
    }
}
