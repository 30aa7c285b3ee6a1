//! Measures the cost of an unstolen task and its causes, and the delay until a task is given away
//! ([DDS](crate#sources) Theorem 1). Also compares kinds of thieves.

mod point;
mod shapes;
mod tasks;
mod thieves;

use clap::{Arg, ArgMatches};
use millpond_cli::suites::{Failure, MAX_WORKERS, Progress, Row, Suite, integer, names, wants};
use shapes::SHAPES;
use std::iter;
use thieves::{COMPARISONS, Comparison};

/// The suite's entry in the table.
pub const SUITE: Suite = Suite::new(
    "stack",
    "A task on the dataflow stack, by accesses, number and depth; when others are given away; kinds of thieves",
    args,
    measure,
);

/// The default maximum number of tasks in a run.
const MAX_TASKS: u64 = 100_000_000;

fn args() -> Vec<Arg> {
    let all = SHAPES.iter().map(|shape| shape.name).chain(COMPARISONS.iter().map(|compared| compared.name));
    // Each comparison has the default stack, too.
    let others = COMPARISONS.iter().flat_map(|compared| compared.schemes().skip(1));
    vec![
        names("shape", all, "Measure these tasks only; may be repeated"),
        names("scheme", shapes::SCHEMES.into_iter().chain(others), "Measure this scheme only; may be repeated"),
        integer(
            "tasks",
            "N",
            100,
            MAX_TASKS,
            format!("Sizes with more tasks are left out, or cut down [default: {MAX_TASKS}]"),
        ),
        integer("workers", "N", 2, MAX_WORKERS, "Workers where kinds of thieves are compared [default: 2]"),
    ]
}

/// The suite's arguments.
struct Request<'a> {
    matches: &'a ArgMatches,
    /// The maximum number of tasks in a run.
    most: u64,
    reps: usize,
    progress: Progress,
}

impl Request<'_> {
    fn wants(&self, option: &str, name: &str) -> bool {
        wants(self.matches, option, name)
    }

    /// The chosen comparisons of thieves.
    fn comparisons(&self) -> impl Iterator<Item = &'static Comparison> {
        COMPARISONS.iter().filter(|compared| self.wants("shape", compared.name))
    }

    /// Checks that every given option applies to one of the shapes.
    fn require_something_of_each(&self) -> Result<(), Failure> {
        if self.matches.contains_id("workers") && self.comparisons().next().is_none() {
            let shapes: Vec<_> = COMPARISONS.iter().map(|compared| format!("--shape {}", compared.name)).collect();
            let says = format!("--workers is for {}: the other shapes have one worker or two", shapes.join(" and "));
            return Err(Failure::Usage(says));
        }
        let compared = self.comparisons().flat_map(Comparison::schemes);
        let shapes = SHAPES.iter().filter(|shape| self.wants("shape", shape.name));
        let mut measured: Vec<_> = shapes.flat_map(|shape| shape.schemes()).copied().chain(compared).collect();
        measured.sort_unstable();
        measured.dedup();
        let mut given = self.matches.get_many::<String>("scheme").into_iter().flatten();
        given.find(|scheme| !measured.contains(&scheme.as_str())).map_or(Ok(()), |scheme| {
            let says = format!("--scheme {scheme}: these shapes are measured on {}", measured.join(", "));
            Err(Failure::Usage(says))
        })
    }
}

fn measure(matches: &ArgMatches, reps: usize) -> Result<Vec<Row>, Failure> {
    let most = matches.get_one::<u64>("tasks").copied().unwrap_or(MAX_TASKS);
    let request = Request { matches, most, reps, progress: Progress::new() };
    request.require_something_of_each()?;
    let mut rows = shapes::measure(&request)?;
    for compared in request.comparisons() {
        rows.extend(compared.measure(&request)?);
    }
    Ok(rows)
}

/// Halves the size until it fits.
fn halved(size: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    iter::successors(Some(size), |size| Some(size / 2)).take_while(|size| *size > 0).find(|size| fits(*size))
}
