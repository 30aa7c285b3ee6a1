//! The options of `millpond simulate`: programs, machine, costs.

use super::clusters;
use crate::args::{file, flag, integer, words};
use crate::failure::Failure;
use clap::{Arg, ArgMatches, Command};
use millpond::stack::End;
use millpond_sim::{Config, Costs, Speed, speeds};
use std::ops::RangeInclusive;

/// The default number of processors.
pub const PROCESSORS: usize = 32;
/// The maximum number of processors.
pub const MAX_PROCESSORS: u64 = 100_000;
/// The range of a cost in seconds. No program may have more work.
const COSTS: RangeInclusive<f64> = 0.0..=1e8;
/// The range of the minimum speed.
const THRESHOLDS: RangeInclusive<f64> = 0.0..=1e6;
/// The ends at which thieves may begin to scan, the default first.
const ENDS: [(&str, End); 2] = [("oldest", End::Oldest), ("newest", End::Newest)];
const END_NAMES: &[&str] = &[ENDS[0].0, ENDS[1].0];

/// A program for simulation without a recording.
pub struct Subject {
    pub name: &'static str,
    summary: &'static str,
    /// For each option: its name, minimum, maximum, default and help.
    pub options: &'static [(&'static str, u64, u64, u64, &'static str)],
}

/// Every program, in the order of `--help`.
pub static SUBJECTS: &[Subject] = &[
    Subject {
        name: "fib",
        summary: "Fibonacci numbers by double recursion",
        options: &[("n", 0, 80, 40, "Which number"), ("cutoff", 1, 80, 15, "Numbers up to that are leaves")],
    },
    Subject {
        name: "knary",
        summary: "A tree of given parallelism: n levels, k children per node, the first r one after the other",
        options: &[
            ("n", 0, 60, 20, "Levels"),
            ("k", 1, 1000, 30, "Children per node"),
            ("r", 0, 1000, 0, "Of these, how many run one after the other"),
            ("cutoff", 0, 60, 15, "Nodes of that level are leaves"),
        ],
    },
    Subject {
        name: "nqueens",
        summary: "A model of the tree of n queens; of 21, 22 and 23 with the work of the paper's runs",
        options: &[("n", 1, 30, 21, "Queens"), ("cutoff", 0, 30, 15, "Rows that a leaf fills")],
    },
    Subject {
        name: "stencil",
        summary: "An iteration over a line of points: a diamond DAG",
        options: &[
            ("n", 1, 100_000_000, 1_024_000, "Points"),
            ("steps", 1, 1_000_000, 50, "Iterations"),
            ("tile", 1, 100_000_000, 1000, "Points per tile"),
            ("block", 1, 1_000_000, 16, "Tiles per block; a block is a task, with a child for each tile"),
        ],
    },
];

/// The options of the machine. Experiments define their own machine.
pub const OF_MACHINES: [&str; 15] = [
    "processors",
    "speeds",
    "fault-below",
    "own-latency",
    "at-once",
    "bandwidth",
    "steal-from",
    "task-cost",
    "arg-cost",
    "leaf-cost",
    "clusters",
    "site-link",
    "grid-link",
    "local-tries",
    "results",
];

/// The names of the experiments.
pub const EXPERIMENTS: &[&str] = &["table1", "fig4", "theorem2"];

/// The command.
pub fn command() -> Command {
    let subjects = SUBJECTS.iter().map(|subject| {
        let options = subject.options.iter().map(|&(name, least, most, default, help)| {
            integer(name, "N", least, most, format!("{help} [default: {default}]"))
        });
        Command::new(subject.name).about(subject.summary).args(options)
    });
    Command::new("simulate")
        .about("Simulate a program, a task graph or a recording on any number of processors")
        .subcommand_value_name("PROGRAM")
        .subcommand_help_heading("Programs")
        .disable_help_subcommand(true)
        .args(machine_args())
        .args(clusters::args())
        .args([flag("json", "Print one JSON object"), file("svg", "Draw CPU and network load over time")])
        .mut_args(|arg| arg.global(true))
        .arg(file("trace", "Simulate a recording that `millpond profile --record` wrote, instead of a program"))
        .arg(file("stg", "Simulate a task graph in the format of the Standard Task Graph Set, instead of a program"))
        .arg(words(
            "experiment",
            "NAME",
            EXPERIMENTS,
            "Simulate an experiment of the paper, and compare it with the published results",
        ))
        .subcommands(subjects)
}

/// The options of the simulated machine.
fn machine_args() -> [Arg; 12] {
    [
        integer("processors", "P", 1, MAX_PROCESSORS, "Simulated processors [default: 32]"),
        Arg::new("speeds").long("speeds").value_name("FILE|GENERATOR").allow_hyphen_values(true).help(
            "Their speeds over time, 0 or from 1e-3 to 1e6: constant[:S], uniform:LOW..HIGH[:SECONDS], churn:UP:DOWN, or \
             a file with lines 'processor second speed'; seconds and means from 1e-6 to 1e9 [default: constant]",
        ),
        number(
            "fault-below",
            "SPEED",
            THRESHOLDS,
            "A slower processor is faulty: others do its work again; from 0 to 1e6",
        ),
        number(
            "latency",
            "SECONDS",
            Config::LATENCIES,
            "From a request for work to its answer, within a cluster, from 1e-9 to 1e6 [default: 1e-4; of a recording as recorded, or 1.3e-5]",
        ),
        number(
            "own-latency",
            "SECONDS",
            Config::OWN_LATENCIES,
            "Time to take from an own suspended stack, from 0 to 1e6 [default: 0; of a recording as recorded, or 0]",
        ),
        number(
            "at-once",
            "N",
            Config::AT_ONCE,
            "Tasks that a thief takes at once, on average, from 1 to 1e6 [default: 1; of a recording as recorded, or 1]",
        ),
        number(
            "bandwidth",
            "BYTES",
            Config::BANDWIDTHS,
            "Bytes per second for stolen tasks, within a cluster, from 1e3 to 1e18 [default: 12.5e6; of a recording 1e10]",
        ),
        words("steal-from", "END", END_NAMES, "The frame of a stack at which thieves begin to scan [default: oldest]"),
        cost("task-cost", "To create a task, in whole nanoseconds up to 1e8 [default: 230e-9; of --stg 0; of a recording its overhead per task]"),
        cost("arg-cost", "To pass an argument, in whole nanoseconds up to 1e8 [default: 160e-9; of --stg and of a recording 0]"),
        cost(
            "leaf-cost",
            "What a leaf takes, or a unit of processing time in --stg, in whole nanoseconds up to 1e8 [default: 1e-3; of \
             --stg 1]",
        ),
        integer("seed", "N", 0, u64::MAX, "Seed of the thieves' choices and of random speeds [default: 1]"),
    ]
}

/// An option with a number in a range.
fn number(name: &'static str, value: &'static str, range: RangeInclusive<f64>, help: &'static str) -> Arg {
    parsed(name, value, help, move |text| in_range(text, &range))
}

/// An option with seconds, counted in nanoseconds.
fn cost(name: &'static str, help: &'static str) -> Arg {
    parsed(name, "SECONDS", help, |text| {
        let seconds = in_range(text, &COSTS)?;
        if is_whole(seconds * 1e9) { Ok(seconds) } else { Err("expected whole nanoseconds, such as 160e-9".to_owned()) }
    })
}

pub fn parsed<T, F>(name: &'static str, value: &'static str, help: &'static str, parse: F) -> Arg
where
    T: Clone + Send + Sync + 'static,
    F: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
{
    Arg::new(name).long(name).value_name(value).help(help).value_parser(parse)
}

pub fn in_range(text: &str, range: &RangeInclusive<f64>) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("expected a number from {} to {}", short(*range.start()), short(*range.end()))),
    }
}

/// Whether the number is an integer, apart from the rounding of a multiplication.
fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() < 1e-6 * number.max(1.0)
}

/// A bound, in its shortest form.
fn short(bound: f64) -> String {
    if [0.0, 1.0].contains(&bound) { bound.to_string() } else { format!("{bound:e}") }
}

/// The number of an option, if given.
pub fn given(matches: &ArgMatches, name: &str) -> Option<f64> {
    matches.get_one::<f64>(name).copied()
}

pub fn seed(matches: &ArgMatches) -> u64 {
    matches.get_one::<u64>("seed").copied().unwrap_or(1)
}

/// The end at which thieves begin to scan.
fn end(matches: &ArgMatches) -> End {
    let named = matches.get_one::<String>("steal-from");
    let chosen = ENDS.iter().find(|(name, _)| named.is_some_and(|named| named == name));
    chosen.unwrap_or(&ENDS[0]).1
}

/// The name of an end.
pub fn name_of(end: End) -> &'static str {
    ENDS.iter().find(|(_, other)| *other == end).unwrap_or(&ENDS[0]).0
}

/// Seconds as nanoseconds.
pub fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// The costs of creating tasks, with the defaults in `default`.
pub fn costs(matches: &ArgMatches, default: Costs) -> Costs {
    Costs {
        task: given(matches, "task-cost").map_or(default.task, nanos),
        argument: given(matches, "arg-cost").map_or(default.argument, nanos),
    }
}

/// The description of a machine, for the output.
pub struct Described {
    pub config: Config,
    pub speeds: String,
    pub fault_below: Option<f64>,
}

/// The machine. Unless options say otherwise, it has as many processors as `default`, and thefts
/// cost as much.
pub fn machine(matches: &ArgMatches, default: &Config) -> Result<Described, Failure> {
    let network = clusters::network(matches)?;
    let given = matches.get_one::<u64>("processors").map(|&processors| processors as usize);
    let processors = match &network {
        Some(network) => network.processors(),
        None => given.unwrap_or(default.speeds.len()),
    };
    let text = matches.get_one::<String>("speeds").cloned().unwrap_or_else(|| "constant".to_owned());
    let of: Vec<Speed> = speeds(&text, processors, seed(matches))?;
    let fault_below = self::given(matches, "fault-below");
    let config = Config {
        speeds: of,
        fault_below: fault_below.unwrap_or(0.0),
        seed: seed(matches),
        end: end(matches),
        send_results: clusters::send_results(matches, network.is_some()),
        network,
        ..Config::of(0)
    };
    let mut machine = Described { config, speeds: text, fault_below };
    machine.set_thefts(matches, default);
    Ok(machine)
}

impl Described {
    /// Sets the costs of thefts to `default`'s, unless options say otherwise.
    pub fn set_thefts(&mut self, matches: &ArgMatches, default: &Config) {
        let config = &mut self.config;
        config.latency = given(matches, "latency").unwrap_or(default.latency);
        config.own_latency = given(matches, "own-latency").unwrap_or(default.own_latency);
        config.at_once = given(matches, "at-once").unwrap_or(default.at_once);
        config.bandwidth = given(matches, "bandwidth").unwrap_or(default.bandwidth);
    }
}
