//! `millpond simulate`: runs programs and recordings on simulated processors.

mod clusters;
mod experiment;
mod graph;
pub mod options;
mod show;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::recording;
use clap::ArgMatches;
use clap::parser::ValueSource;
use clusters::name_of_results;
use millpond_sim::programs::{Fib, Knary, NQueens, Recorded, Stencil};
use millpond_sim::{Config, Costs, Link, Network, Outcome, SpeedsError, draw, experiments, simulate as run};
use millpond_trace::Report;
use millpond_workloads::output;
use options::{Described, PROCESSORS, SUBJECTS, Subject, costs, given, machine, name_of, nanos, seed};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Simulates the subject of the arguments.
pub fn simulate(matches: &ArgMatches) -> Result<bool, Failure> {
    let trace = matches.get_one::<PathBuf>("trace");
    let stg = matches.get_one::<PathBuf>("stg");
    let experiment = matches.get_one::<String>("experiment");
    let subject = matches.subcommand();
    match (subject, trace, stg, experiment) {
        (Some((name, matches)), None, None, None) => program(name, matches)?,
        (None, Some(file), None, None) => recording(file, matches)?,
        (None, None, Some(file), None) => graph::graph(file, matches)?,
        (None, None, None, Some(name)) => experiment::experiment(name, matches)?,
        (None, None, None, None) => {
            let names: Vec<_> = SUBJECTS.iter().map(|subject| subject.name).collect();
            let says = format!("expected --trace FILE, --stg FILE, --experiment NAME or one of {}", names.join(", "));
            return Err(Failure::Usage(says));
        }
        _ => return Err(Failure::Usage("a program, --trace, --stg and --experiment exclude one another".to_owned())),
    }
    Ok(true)
}

impl From<SpeedsError> for Failure {
    fn from(error: SpeedsError) -> Self {
        match error {
            SpeedsError::Generator { .. } => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<millpond_sim::Error> for Failure {
    fn from(error: millpond_sim::Error) -> Self {
        match error {
            millpond_sim::Error::TooLarge => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Checks before a long simulation that the picture can be written, and that its file is not an
/// input.
fn svg<'a>(matches: &'a ArgMatches, input: Option<(&str, &Path)>) -> Result<Option<&'a Path>, Failure> {
    let Some(file) = matches.get_one::<PathBuf>("svg") else { return Ok(None) };
    let given = ["speeds", "clusters"].into_iter().filter_map(|option| {
        let text = matches.get_one::<String>(option)?;
        Some((option, Path::new(text)))
    });
    for (option, other) in given.chain(input) {
        if output::place(other) == output::place(file) {
            let says = format!("--svg and --{option} name the same file: {}", file.display());
            return Err(Failure::Usage(says));
        }
    }
    output::require(file)?;
    Ok(Some(file))
}

fn write_svg(file: Option<&Path>, outcomes: &[(&str, &Outcome)]) -> Result<(), Failure> {
    file.map_or(Ok(()), |file| Ok(output::write(file, |out| draw(outcomes, out))?))
}

/// A simulation and its results.
struct Simulated {
    name: String,
    params: Vec<(&'static str, Value)>,
    machine: Described,
    costs: Costs,
    outcome: Outcome,
    /// For a recording: the number of workers, and their seconds.
    measured: Option<(usize, f64)>,
    /// For a task graph.
    known: Option<Known>,
}

/// What is known about a task graph.
struct Known {
    /// The optimal seconds, by the number of processors.
    optima: Vec<(usize, f64)>,
    /// Whether the processors are those of an optimum.
    is_comparable: bool,
}

impl Known {
    /// The optimal seconds for these processors.
    fn optimum(&self, processors: usize) -> Option<f64> {
        let of = self.optima.iter().find(|(of, _)| *of == processors && self.is_comparable)?;
        Some(of.1)
    }
}

fn program(name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let subject = SUBJECTS.iter().find(|subject| subject.name == name).expect("clap knows these names alone");
    let svg = svg(matches, None)?;
    let machine = machine(matches, &Config::of(PROCESSORS))?;
    let costs = costs(matches, Costs::PAPER);
    let progress = Progress::new();
    progress.say(|| format!("{name} on {} processors", machine.config.speeds.len()));
    let (params, outcome) = of_subject(subject, matches, costs, &machine)?;
    drop(progress);
    let simulated = Simulated { name: name.to_owned(), params, machine, costs, outcome, measured: None, known: None };
    write_svg(svg, &[(name, &simulated.outcome)])?;
    show::show(&simulated, matches.get_flag("json"))
}

fn of_subject(
    subject: &Subject,
    matches: &ArgMatches,
    costs: Costs,
    machine: &Described,
) -> Result<(Vec<(&'static str, Value)>, Outcome), Failure> {
    let default = |name: &str| subject.options.iter().find(|option| option.0 == name).map_or(0, |option| option.3);
    let value = |name: &str| matches.get_one::<u64>(name).copied().unwrap_or_else(|| default(name));
    let small = |name: &str| value(name) as u32;
    let leaf_seconds = given(matches, "leaf-cost").unwrap_or(1e-3);
    let leaf = nanos(leaf_seconds);
    let mut params: Vec<_> = subject.options.iter().map(|option| (option.0, json!(value(option.0)))).collect();
    params.push(("leaf_cost", json!(leaf_seconds)));
    let config = &machine.config;
    let outcome = match subject.name {
        "fib" => run(&Fib::new(small("n"), small("cutoff"), leaf, costs), config)?,
        "knary" => run(&Knary::new(small("n"), small("k"), small("r"), small("cutoff"), leaf, costs), config)?,
        "nqueens" => {
            let (n, cutoff) = (small("n"), small("cutoff"));
            let leaves = NQueens::new(n, cutoff, 0, costs, 0).leaves();
            let published = experiments::work_of_queens(n).filter(|_| given(matches, "leaf-cost").is_none());
            let work = published.unwrap_or(leaf.saturating_mul(leaves));
            let last = params.len() - 1;
            params[last] = ("leaf_cost", json!(work as f64 / 1e9 / leaves as f64));
            let queens = NQueens::new(n, cutoff, work, costs, seed(matches));
            if queens.creation() > work {
                let (creation, work) = (queens.creation() as f64 / 1e9, work as f64 / 1e9);
                let says = format!(
                    "--task-cost and --arg-cost: to create the tasks takes {creation} s by these, and all work {work} s, the \
                     creation included (--leaf-cost says how much)"
                );
                return Err(Failure::Usage(says));
            }
            run(&queens, config)?
        }
        _ => {
            let (tiles, block, steps) = (value("n").div_ceil(value("tile")), value("block"), value("steps"));
            let blocks = tiles.div_ceil(block);
            if blocks.saturating_mul(steps) > MAX_BLOCKS {
                let says = format!(
                    "--n, --tile, --block, --steps: {blocks} blocks of tiles times {steps} steps are too many: at most \
                     {MAX_BLOCKS} in all"
                );
                return Err(Failure::Usage(says));
            }
            run(&Stencil::new(tiles, block, steps, leaf, costs), config)?
        }
    };
    Ok((params, outcome))
}

/// They are children of one task, and are all in memory.
const MAX_BLOCKS: u64 = 1_000_000;

/// The costs of thefts for a recording without thefts from a stack. The latency is the longest
/// pause between two scans of a stack thief.
fn of_recordings() -> Config {
    Config { latency: 1.3e-5, bandwidth: 1e10, ..Config::of(PROCESSORS) }
}

/// The costs of thefts in a recording with thefts from a stack. Each scan has the recorded average
/// time. Before scanning another processor's stacks, a thief was also idle while a task was ready.
/// A thief takes several closures at once.
fn recorded_thefts(report: &Report) -> Config {
    let Some(thefts) = &report.thefts else { return of_recordings() };
    let own_latency = thefts.seconds_each();
    let latency = (own_latency + thefts.idle_per_scan()).max(*Config::LATENCIES.start());
    let at_once = thefts.closures_per_scan().clamp(*Config::AT_ONCE.start(), *Config::AT_ONCE.end());
    Config { latency, own_latency, at_once, ..of_recordings() }
}

fn recording(file: &Path, matches: &ArgMatches) -> Result<(), Failure> {
    if matches.value_source("leaf-cost") == Some(ValueSource::CommandLine) {
        return Err(Failure::Usage("--trace says what bodies take: it cannot be used with --leaf-cost".to_owned()));
    }
    let svg = svg(matches, Some(("trace", file)))?;
    let mut machine = machine(matches, &of_recordings())?;
    let failed = |error: millpond_trace::ReadError| Failure::Failed(error.to_string());
    let progress = Progress::new();
    let recording = recording::read(file, recording::Needs::Simulation, &progress)?;
    let report = recording.report().map_err(failed)?;
    machine.set_thefts(matches, &recorded_thefts(&report));
    // Each task of the recorded tree has its share. The runtime's combinations of reductions are in
    // the tree, too.
    let at_thefts = report.thefts.map_or(0.0, |thefts| thefts.seconds);
    let overhead = (report.overhead - at_thefts).max(0.0) / (report.tasks + report.combinations).max(1) as f64;
    let costs = costs(matches, Costs { task: nanos(overhead), argument: 0 });
    let recorded = Recorded::new(&recording, costs).map_err(failed)?;
    progress.say(|| format!("{} on {} processors", recording.program, machine.config.speeds.len()));
    let outcome = run(&recorded, &machine.config)?;
    drop(progress);
    let params = vec![("trace", json!(file.to_string_lossy()))];
    let measured = Some((report.workers, report.seconds));
    let simulated =
        Simulated { name: recording.program.clone(), params, machine, costs, outcome, measured, known: None };
    write_svg(svg, &[(&simulated.name, &simulated.outcome)])?;
    show::show(&simulated, matches.get_flag("json"))
}

/// The links between clusters: a row for each cluster, with a link to each cluster.
fn links(config: &Config, network: &Network) -> Vec<Vec<Link>> {
    let own = Link { latency: config.latency, bandwidth: config.bandwidth };
    let count = network.clusters().len();
    (0..count).map(|one| (0..count).map(|other| network.link(one, other, own)).collect()).collect()
}

/// The machine as a JSON object.
fn machine_json(simulated: &Simulated) -> Value {
    let Described { config, speeds, fault_below } = &simulated.machine;
    let mut object = Map::new();
    object.insert("processors".into(), json!(config.speeds.len()));
    object.insert("speeds".into(), json!(speeds));
    object.insert("fault_below".into(), json!(fault_below));
    object.insert("latency".into(), json!(config.latency));
    object.insert("own_latency".into(), json!(config.own_latency));
    object.insert("at_once".into(), json!(config.at_once));
    object.insert("bandwidth".into(), json!(config.bandwidth));
    object.insert("results".into(), json!(name_of_results(config.send_results)));
    if let Some(network) = &config.network {
        object.insert("clusters".into(), json!(network.clusters()));
        object.insert("links".into(), json!(links(config, network)));
        object.insert("local_tries".into(), json!(network.local_tries));
    }
    object.insert("steal_from".into(), json!(name_of(config.end)));
    object.insert("task_cost".into(), json!(simulated.costs.task as f64 / 1e9));
    object.insert("arg_cost".into(), json!(simulated.costs.argument as f64 / 1e9));
    object.insert("seed".into(), json!(config.seed));
    Value::Object(object)
}
