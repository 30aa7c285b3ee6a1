//! `millpond bench`: suites of measurements, with one row per measured point.

mod bimodal;
mod bytes;
mod collections;
mod cost;
mod elsewhere;
mod grain;
pub mod graph;
mod idle;
mod metg;
pub mod options;
mod pools;
pub mod rank_sum;
pub mod row;
pub mod shares;
pub mod spin;

use crate::args::runtime_args;
use crate::config::Config;
use crate::failure::Failure;
use crate::line;
use crate::progress::Progress;
use clap::{Arg, ArgMatches};
use millpond::catalogue::Registry;
use row::Row;
use std::path::PathBuf;

/// A suite: an entry in the table of suites.
#[derive(Debug)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its subject, in one line.
    pub summary: &'static str,
    /// Its own options.
    args: fn() -> Vec<Arg>,
    /// Takes the measurements.
    measure: Measure,
}

/// What the suite measures.
#[derive(Debug)]
enum Measure {
    /// One runtime, chosen by the shared options.
    Runtime(fn(&Request) -> Result<Vec<Row>, Failure>),
    /// All pools and memory managers in one run.
    Pools(fn(&pools::Request) -> Result<Vec<Row>, Failure>),
    /// Chosen by its own options. The number is the repetitions.
    Own(fn(&ArgMatches, usize) -> Result<Vec<Row>, Failure>),
    /// The suite is in another program.
    Elsewhere,
}

impl Suite {
    /// A suite that reads all of its options, except `--reps`, whose value `measure` gets, `--json`
    /// and `--csv`.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        args: fn() -> Vec<Arg>,
        measure: fn(&ArgMatches, usize) -> Result<Vec<Row>, Failure>,
    ) -> Self {
        Self { name, summary, args, measure: Measure::Own(measure) }
    }

    /// A suite of another program.
    const fn elsewhere(name: &'static str, summary: &'static str) -> Self {
        Self { name, summary, args: elsewhere::args, measure: Measure::Elsewhere }
    }

    /// Whether the suite is in another program.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.measure, Measure::Elsewhere)
    }

    /// All of its options, except the common ones.
    pub(crate) fn args(&self, registry: &Registry) -> Vec<Arg> {
        let mut args = match self.measure {
            Measure::Runtime(_) => runtime_args(registry),
            Measure::Pools(_) => pools::args(registry),
            Measure::Own(_) | Measure::Elsewhere => Vec::new(),
        };
        args.extend((self.args)());
        args
    }

    fn measure(&self, matches: &ArgMatches, registry: &Registry) -> Result<Vec<Row>, Failure> {
        let reps = || matches.get_one::<u64>("reps").map_or(5, |reps| *reps as usize);
        match self.measure {
            Measure::Runtime(suite) => {
                let config = Config::new(matches, registry)?;
                suite(&Request { matches, config, reps: reps(), progress: Progress::new() })
            }
            Measure::Pools(suite) => suite(&pools::Request::new(matches, registry, reps())?),
            Measure::Own(suite) => suite(matches, reps()),
            Measure::Elsewhere => Err(elsewhere::run(self.name, matches)),
        }
    }
}

/// Every suite.
pub static SUITES: &[Suite] = &[
    Suite {
        name: "grain",
        summary: "Efficiency against the length of a task, and METG, on four graphs",
        args: grain::args,
        measure: Measure::Runtime(grain::measure),
    },
    Suite {
        name: "cost",
        summary: "Cost of an empty task against the number of tasks, on four graphs",
        args: cost::args,
        measure: Measure::Runtime(cost::measure),
    },
    Suite {
        name: "bimodal",
        summary: "Speed-up of a mix of few long and many short tasks",
        args: bimodal::args,
        measure: Measure::Runtime(bimodal::measure),
    },
    Suite {
        name: "idle",
        summary: "Processor time of an idle runtime",
        args: idle::args,
        measure: Measure::Runtime(idle::measure),
    },
    Suite {
        name: "bytes",
        summary: "Memory of an outstanding task, on four graphs",
        args: bytes::args,
        measure: Measure::Runtime(bytes::measure),
    },
    Suite::elsewhere(
        "stack",
        "A task on the dataflow stack, by accesses, number and depth; when others are given away; kinds of thieves",
    ),
    Suite::elsewhere(
        "reductions",
        "A task that reduces or accumulates, compared with one of `inout`; recursions that sum",
    ),
    Suite::elsewhere("spawn", "Every scheme: cycles to spawn and run a ready task, by annotation"),
    Suite::elsewhere("slow-path", "Every scheme: ns to issue, wake and release tasks behind a held object"),
    Suite::elsewhere("three-gen", "Every scheme: the same behind a generation of readers"),
    Suite::elsewhere("task-size", "Every scheme: delay and efficiency against the length of tasks that read"),
    Suite::elsewhere("args", "Every scheme: the slow path against the number of arguments"),
    Suite::elsewhere("matmul-graph", "Every scheme: delay of tasks in the graph of a matrix product, in two orders"),
    Suite::elsewhere("cholesky-graph", "Every scheme: delay of tasks in the graph of a Cholesky factorisation"),
    pools::POOLS_SUITE,
    pools::MEMORY_SUITE,
    collections::STACK_ALLOC,
    collections::PRECONDITIONS,
];

/// The arguments of a suite.
struct Request<'a> {
    matches: &'a ArgMatches,
    config: Config,
    reps: usize,
    progress: Progress,
}

/// Runs the named suite. Returns whether every row was verified.
pub fn bench(matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    measure(SUITES, matches, registry)
}

/// Runs the named suite of these. Returns whether every row was verified.
pub fn measure(suites: &[Suite], matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    let missing = || Failure::Usage("expected a suite".to_owned());
    let (name, matches) = matches.subcommand().ok_or_else(missing)?;
    let suite = suites.iter().find(|suite| suite.name == name).ok_or_else(missing)?;
    // For a suite of another program, this option does not exist here.
    let csv = matches.try_get_one::<PathBuf>("csv").unwrap_or_default();
    csv.map_or(Ok(()), |file| millpond_workloads::output::require(file))?;
    let rows = suite.measure(matches, registry)?;
    if let Some(file) = csv {
        row::write_csv(file, &rows)?;
    }
    if matches.get_flag("json") {
        row::print_json(suite.name, &rows)?;
    } else {
        row::print_table(&rows)?;
    }
    let wrong: Vec<_> = rows.iter().filter(|row| !row.verified).map(Row::name).collect();
    if !wrong.is_empty() {
        line::error(&format!("{}: the answer is wrong", wrong.join(", ")));
    }
    Ok(wrong.is_empty())
}
