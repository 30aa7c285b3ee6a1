//! Suites that compare the dependence schemes: the measurements of [TG](crate#sources) §5, on every
//! scheme of the catalogue in one run. Each repetition visits every point with every scheme, so
//! that other load affects all.
//!
//! Differences from the paper: two cores or all cores, not 48. The runtime around the schemes is
//! millpond's, whose pool is separate from the tickets.

mod admission;
mod annotation;
mod arguments;
mod compare;
mod plan;
mod point;
mod realistic;
mod round;
mod setting;
mod slow_path;
mod spawn;
mod task_size;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use millpond::catalogue::{self, SCHEMES};
use millpond_cli::suites::{self, Failure, MAX_WORKERS, Progress, Row, cores, integer, names};
use setting::{Given, Rule, Setting};
use std::cell::RefCell;

/// The default maximum time of a suite, approximately, in seconds.
const SECONDS: u64 = 240;

/// The arguments of such a suite.
pub struct Request<'a> {
    matches: &'a ArgMatches,
    schemes: Vec<&'static catalogue::Row>,
    /// The scheme with which the others are compared.
    against: &'static str,
    reps: usize,
    seconds: f64,
    pin: bool,
    given: Given,
    progress: Progress,
    /// The skipped points, and why.
    left_out: RefCell<Vec<String>>,
}

impl<'a> Request<'a> {
    /// Reads the common options of these suites.
    fn new(matches: &'a ArgMatches, reps: usize) -> Result<Self, Failure> {
        let schemes: Vec<_> = SCHEMES.iter().filter(|row| suites::wants(matches, "scheme", row.name)).collect();
        Ok(Self {
            matches,
            against: against(matches, &schemes)?,
            schemes,
            reps,
            seconds: matches.get_one::<u64>("seconds").copied().unwrap_or(SECONDS) as f64,
            pin: matches.get_flag("pin"),
            given: Given::new(matches),
            progress: Progress::new(),
            left_out: RefCell::new(Vec::new()),
        })
    }

    /// A suite's setting, as the options change it.
    fn setting(&self, workers: usize, rule: Rule, window: usize) -> Setting {
        self.given.apply(Setting::new(workers, rule, window))
    }

    /// Takes the measurements, then reports the skipped points.
    fn measure(self, suite: fn(&Request) -> Result<Vec<Row>, Failure>) -> Result<Vec<Row>, Failure> {
        let rows = suite(&self);
        drop(self.progress);
        for line in self.left_out.into_inner() {
            eprintln!("{line}");
        }
        rows
    }

    /// The values of an option that may be repeated, in order, each once.
    fn numbers(&self, name: &str, default: &[u64]) -> Vec<u64> {
        suites::numbers(self.matches, name, default)
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        self.matches.get_one::<u64>(name).copied().unwrap_or(default)
    }

    fn workers(&self, default: &[usize]) -> Vec<usize> {
        let default: Vec<u64> = default.iter().map(|&n| n as u64).collect();
        self.numbers("workers", &default).into_iter().map(|n| n as usize).collect()
    }

    /// Whether a repeatable option has the name, or was not given.
    fn wants(&self, option: &str, name: &str) -> bool {
        suites::wants(self.matches, option, name)
    }
}

/// The scheme with which the others are compared: the given one, or the first of those measured.
fn against(matches: &ArgMatches, schemes: &[&'static catalogue::Row]) -> Result<&'static str, Failure> {
    let Some(given) = matches.get_one::<String>("against") else {
        return Ok(schemes.first().map_or("", |row| row.name));
    };
    let found = schemes.iter().find(|row| row.name == given);
    found.map(|row| row.name).ok_or_else(|| {
        let measured: Vec<_> = schemes.iter().map(|row| row.name).collect();
        let measured = measured.join(", ");
        Failure::Usage(format!("--against {given}: this scheme is not measured; expected one of {measured}"))
    })
}

/// A suite's own options, and the common options of these suites.
fn args(own: Vec<Arg>) -> Vec<Arg> {
    let schemes = || SCHEMES.iter().map(|row| row.name);
    let pin = Arg::new("pin").long("pin").action(ArgAction::SetTrue);
    let parser = PossibleValuesParser::new(schemes());
    let against = Arg::new("against").long("against").value_name("NAME").value_parser(parser);
    let seconds = format!("Leave out points that do not fit into this time, which is approximate [default: {SECONDS}]");
    let shared = [
        names("scheme", schemes(), "Measure this scheme only; may be repeated"),
        against.help("Compare each other scheme with this one (rank-sum test) [default: the first measured]"),
        pin.help("Keep each worker on its own core"),
        integer("seconds", "S", 1, 1_000_000, seconds),
    ];
    shared.into_iter().chain(setting::args()).chain(own).collect()
}

/// The option for numbers of workers.
fn workers(default: &str) -> Arg {
    let help = format!("Threads that run tasks; may be repeated [default: {default}]");
    integer("workers", "N", 1, MAX_WORKERS, help).action(ArgAction::Append)
}

pub use arguments::SUITE as ARGUMENTS;
pub use realistic::{CHOLESKY, MATMUL};
pub use slow_path::{SLOW_PATH, THREE_GENERATIONS};
pub use spawn::SUITE as SPAWN;
pub use task_size::SUITE as TASK_SIZE;
