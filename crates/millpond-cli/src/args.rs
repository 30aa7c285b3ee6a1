//! The command line, made from the tables of workloads, families and suites.

use crate::bench::{SUITES, Suite};
use crate::families::FAMILIES;
use crate::profile::outputs::OUTPUTS;
use crate::tuning;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use millpond::Builder;
use millpond::catalogue::Registry;
use millpond_workloads::{Kind, Opt, Options, WORKLOADS, Workload};
use std::path::{Path, PathBuf};

/// The maximum number of workers.
pub const MAX_WORKERS: u64 = 1024;
/// The maximum number of repetitions.
const MAX_REPS: u64 = 1_000_000;
/// The maximum number of tasks in flight. Memory is exhausted earlier.
pub const MAX_WINDOW: u64 = 1 << 32;

/// The whole command.
pub fn command(registry: &Registry) -> Command {
    let command = Command::new("millpond")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A task-dataflow runtime: run its jobs, list its parts, measure")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(run(registry))
        .subcommand(profile(registry))
        .subcommand(crate::simulate::options::command())
        .subcommand(list())
        .subcommand(suites("bench", SUITES, registry).about("Measure the runtime"));
    negative_values(command)
}

/// Lets each option take a negative number as its value, so that the error names the valid values.
/// Otherwise clap reads `-1` as an unknown option.
fn negative_values(command: Command) -> Command {
    let takes_values = |arg: &Arg| arg.get_action().takes_values();
    let command = command.mut_args(|arg| if takes_values(&arg) { arg.allow_negative_numbers(true) } else { arg });
    command.mut_subcommands(negative_values)
}

fn run(registry: &Registry) -> Command {
    let command = Command::new("run")
        .about("Run a workload and check its answer")
        .subcommand_required(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .disable_help_subcommand(true)
        .args(run_args(registry))
        .arg(flag("serial", "Time the serial program too"))
        .arg(flag("verbose", "Show every repetition and the configuration"))
        .arg(flag("json", "Print one JSON object"))
        .args(of_collections())
        .mut_args(|arg| arg.global(true));
    command.subcommands(WORKLOADS.iter().map(workload))
}

fn profile(registry: &Registry) -> Command {
    let command = Command::new("profile")
        .about("Run a workload and say where its time went")
        .long_about(
            "Run a workload and say where its time went: work and span, the critical path, and the reasons of waits. \
             With several repetitions, shows and writes the one of median time.",
        )
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .disable_help_subcommand(true)
        .args(run_args(registry))
        .arg(flag("json", "Print one JSON object"))
        .args(of_collections())
        .args(OUTPUTS.iter().map(|output| file(output.option, output.help)))
        .mut_args(|arg| arg.global(true))
        .arg(file("read", "Profile a recording that --record wrote, instead of a run"));
    command.subcommands(WORKLOADS.iter().map(workload))
}

/// The options of workloads on Collections, which define them. Here they exist only so that other
/// commands can refuse them.
fn of_collections() -> impl Iterator<Item = Arg> {
    ["preconditions", "blocked", "need", "item-table"].into_iter().map(|name| Arg::new(name).long(name).hide(true))
}

/// An option with a file as its value.
pub fn file(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").help(help).value_parser(value_parser!(PathBuf))
}

/// The options for a run of a workload.
pub fn run_args(registry: &Registry) -> Vec<Arg> {
    let mut args = runtime_args(registry);
    args.extend(tuning::args());
    args.push(integer("reps", "R", 1, MAX_REPS, "Run R times [default: 1]"));
    args
}

/// The options that choose a runtime.
pub fn runtime_args(registry: &Registry) -> Vec<Arg> {
    let mut args = vec![
        integer("workers", "N", 1, MAX_WORKERS, "Threads that run tasks [default: the cores allowed]"),
        flag("pin", "Keep each worker on its own core"),
        integer(
            "window",
            "TASKS",
            1,
            MAX_WINDOW,
            format!("Tasks in flight at most [default: {}]", Builder::DEFAULT_WINDOW),
        ),
        flag("deterministic", "The same answer to the last bit in every run"),
    ];
    args.extend(FAMILIES.iter().map(|family| {
        let help = format!("The part that decides {} [default: {}]", family.decides, family.default);
        Arg::new(family.option)
            .long(family.option)
            .value_name("NAME")
            .help(help)
            .value_parser(PossibleValuesParser::new(family.names(registry)))
    }));
    args.push(tuning::theft_arg());
    args
}

fn workload(workload: &'static Workload) -> Command {
    Command::new(workload.name).about(workload.summary).args(workload.options.iter().map(option))
}

fn option(opt: &'static Opt) -> Arg {
    match opt.kind {
        Kind::Integer { min, max, default } => {
            let default = default.map(|d| format!(" [default: {d}]")).unwrap_or_default();
            integer(opt.name, "N", min, max, format!("{}{default}", opt.help))
        }
        Kind::Choice(choices) => words(opt.name, "NAME", choices, format!("{} [default: {}]", opt.help, choices[0])),
        Kind::Text { form } => Arg::new(opt.name).long(opt.name).value_name(form).help(opt.help),
        Kind::Path => file(opt.name, opt.help),
        Kind::Flag => flag(opt.name, opt.help),
    }
}

fn list() -> Command {
    let kinds = std::iter::once("workloads").chain(FAMILIES.iter().map(|f| f.plural));
    Command::new("list")
        .about("List the workloads and the exchangeable parts")
        .arg(Arg::new("what").value_name("WHAT").value_parser(PossibleValuesParser::new(kinds)))
        .arg(flag("json", "Print one JSON object"))
}

/// A command whose subcommands are suites.
pub fn suites(name: &'static str, suites: &'static [Suite], registry: &Registry) -> Command {
    let suites = suites.iter().map(|suite| {
        let command = Command::new(suite.name).about(suite.summary).args(suite.args(registry));
        if suite.is_elsewhere() {
            // The suite's program reads all arguments, including `--help`.
            return command.disable_help_flag(true);
        }
        command
            .arg(integer("reps", "R", 1, 1000, "Repetitions of each point [default: 5]"))
            .arg(flag("json", "Print one JSON object").conflicts_with("csv"))
            .arg(file("csv", "Write the rows to FILE as CSV"))
    });
    let command = Command::new(name)
        .subcommand_required(true)
        .subcommand_value_name("SUITE")
        .subcommand_help_heading("Suites")
        .disable_help_subcommand(true)
        .subcommands(suites);
    negative_values(command)
}

/// An option with an integer value in `min..=max`.
pub fn integer(
    name: &'static str,
    value: &'static str,
    min: u64,
    max: u64,
    help: impl Into<clap::builder::StyledStr>,
) -> Arg {
    let parse = move |text: &str| match text.parse::<u64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("expected {min}..={max}")),
    };
    Arg::new(name).long(name).value_name(value).help(help).value_parser(parse)
}

/// An option whose value is one of a few words.
pub fn words(
    name: &'static str,
    value: &'static str,
    choices: &'static [&'static str],
    help: impl Into<clap::builder::StyledStr>,
) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).value_parser(PossibleValuesParser::new(choices))
}

pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

/// The files that options of `workload` name.
pub fn files<'a>(workload: &Workload, matches: &'a ArgMatches) -> Vec<(&'static str, &'a Path)> {
    let paths = workload.options.iter().filter(|opt| matches!(opt.kind, Kind::Path));
    paths.filter_map(|opt| Some((opt.name, matches.get_one::<PathBuf>(opt.name)?.as_path()))).collect()
}

/// The options of `workload` that were given.
pub fn options(workload: &Workload, matches: &ArgMatches) -> Options {
    workload.options.iter().fold(Options::new(), |options, opt| match opt.kind {
        Kind::Integer { .. } => match matches.get_one::<u64>(opt.name) {
            Some(value) => options.integer(opt.name, *value),
            None => options,
        },
        Kind::Choice(_) | Kind::Text { .. } => match matches.get_one::<String>(opt.name) {
            Some(word) => options.text(opt.name, word),
            None => options,
        },
        Kind::Path => match matches.get_one::<PathBuf>(opt.name) {
            Some(path) => options.path(opt.name, path),
            None => options,
        },
        Kind::Flag if matches.get_flag(opt.name) => options.flag(opt.name),
        Kind::Flag => options,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tables_make_a_sound_command() {
        super::command(&millpond::catalogue::Registry::default()).debug_assert();
    }

    /// Each option of each command reads `-1` as its value, and refuses it only as an invalid
    /// value.
    #[test]
    fn a_negative_number_is_a_value() {
        fn check(command: &clap::Command, path: &[&str]) {
            for inner in command.get_subcommands() {
                check(inner, &[path, &[inner.get_name()]].concat());
            }
            for long in
                command.get_arguments().filter(|arg| arg.get_action().takes_values()).filter_map(|a| a.get_long())
            {
                let option = format!("--{long}");
                let words = [path, &[option.as_str(), "-1"]].concat();
                let result = super::command(&millpond::catalogue::Registry::default()).try_get_matches_from(&words);
                let error = result.err().map(|error| error.kind());
                assert_ne!(error, Some(clap::error::ErrorKind::UnknownArgument), "{words:?}");
            }
        }
        check(&super::command(&millpond::catalogue::Registry::default()), &["millpond"]);
    }
}
