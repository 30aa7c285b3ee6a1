//! `millpond bench`: suites of measurements, a row a measured point.

mod bimodal;
mod bytes;
mod collections;
mod cost;
mod grain;
mod graph;
mod idle;
mod metg;
mod options;
mod pools;
mod rank_sum;
mod row;
mod schemes;
mod shares;
mod spin;
mod stack;

use crate::config::Config;
use crate::failure::Failure;
use crate::progress::Progress;
use clap::{Arg, ArgMatches};
use row::Row;
use std::path::PathBuf;

/// A suite: a row of data before it is code.
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line that says what it measures.
    pub summary: &'static str,
    /// Its own options.
    pub args: fn() -> Vec<Arg>,
    /// Takes the measurements.
    measure: Measure,
}

/// What a suite measures.
enum Measure {
    /// One runtime, chosen by the options.
    Runtime(fn(&Request) -> Result<Vec<Row>, Failure>),
    /// All dependence schemes in one run.
    Schemes(fn(&schemes::Request) -> Result<Vec<Row>, Failure>),
    /// All pools and memory managers in one run.
    Pools(fn(&pools::Request) -> Result<Vec<Row>, Failure>),
    /// What its own options choose; with so many repetitions.
    Own { choice: fn() -> Vec<Arg>, measure: fn(&ArgMatches, usize) -> Result<Vec<Row>, Failure> },
}

impl Suite {
    /// The options that choose what is measured, if there are others than those of one runtime.
    pub fn choice(&self) -> Option<Vec<Arg>> {
        match self.measure {
            Measure::Runtime(_) => None,
            Measure::Schemes(_) => Some(schemes::args()),
            Measure::Pools(_) => Some(pools::args()),
            Measure::Own { choice, .. } => Some(choice()),
        }
    }

    fn measure(&self, matches: &ArgMatches) -> Result<Vec<Row>, Failure> {
        let reps = matches.get_one::<u64>("reps").map_or(5, |reps| *reps as usize);
        match self.measure {
            Measure::Runtime(suite) => {
                suite(&Request { matches, config: Config::new(matches)?, reps, progress: Progress::new() })
            }
            Measure::Schemes(suite) => schemes::Request::new(matches, reps).measure(suite),
            Measure::Pools(suite) => suite(&pools::Request::new(matches, reps)),
            Measure::Own { measure, .. } => measure(matches, reps),
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
        summary: "Cost of an empty task against their number, on four graphs",
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
        summary: "Processor time of a runtime that has nothing to do",
        args: idle::args,
        measure: Measure::Runtime(idle::measure),
    },
    Suite {
        name: "bytes",
        summary: "Memory of a task that is outstanding, on four graphs",
        args: bytes::args,
        measure: Measure::Runtime(bytes::measure),
    },
    stack::SUITE,
    schemes::SPAWN,
    schemes::SLOW_PATH,
    schemes::THREE_GENERATIONS,
    schemes::TASK_SIZE,
    schemes::ARGUMENTS,
    schemes::MATMUL,
    schemes::CHOLESKY,
    pools::POOLS_SUITE,
    pools::MEMORY_SUITE,
    collections::STACK_ALLOC,
    collections::PRECONDITIONS,
];

/// What a suite is asked for.
struct Request<'a> {
    matches: &'a ArgMatches,
    config: Config,
    reps: usize,
    progress: Progress,
}

/// Runs the suite that was named; says whether every row was verified.
pub fn bench(matches: &ArgMatches) -> Result<bool, Failure> {
    let missing = || Failure::Usage("expected a suite".to_owned());
    let (name, matches) = matches.subcommand().ok_or_else(missing)?;
    let suite = SUITES.iter().find(|suite| suite.name == name).ok_or_else(missing)?;
    let csv = matches.get_one::<PathBuf>("csv");
    csv.map_or(Ok(()), |file| millpond_workloads::output::require(file))?;
    let rows = suite.measure(matches)?;
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
        eprintln!("error: {}: the answer is wrong", wrong.join(", "));
    }
    Ok(wrong.is_empty())
}
