//! Runs the same task graphs alternately on millpond and on other runtimes; see the README.
//!
//! With `--json`, stdout has one object and nothing else. A failure or a usage error leaves stdout
//! empty, and writes one line on stderr. If all is verified, the exit status is 0. If an answer is
//! wrong or a runtime failed, it is 1. If the arguments are wrong, it is 2. A missing runtime is no
//! failure.
#![forbid(unsafe_code)]

mod args;
mod child;
mod graph;
mod output;
mod plot;
mod progress;
mod row;
mod runtimes;
mod suites;
mod table;
#[cfg(test)]
mod tests;
mod turns;
mod work;

use clap::ArgMatches;
use progress::Progress;
use row::Row;
use runtimes::{RUNTIMES, ceiling};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use suites::{Request, SUITES, Suite};

/// The fraction of each graph that `--quick` runs.
const QUICK: f64 = 1.0 / 256.0;

fn main() -> ExitCode {
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(asked) if !asked.use_stderr() => {
            // Help and version. A failed write is no failure.
            let _ = asked.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{}", args::refusal(&error));
            return ExitCode::from(2);
        }
    };
    if matches.get_flag(ceiling::WORKER) {
        return ceiling::worker();
    }
    if let Some(shape) = missed_shape(&matches) {
        eprintln!("error: none of the suites that are asked for has a graph '{shape}'");
        return ExitCode::from(2);
    }
    match bench(&matches) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints the requested suites. Returns whether all is well.
fn bench(matches: &ArgMatches) -> Result<bool, String> {
    let files = ["csv", "svg"].map(|name| matches.get_one::<PathBuf>(name));
    files.iter().flatten().try_for_each(|file| output::require(file))?;
    let suites: Vec<&Suite> = SUITES.iter().filter(|suite| is_asked_for(matches, suite)).collect();
    let request = request(matches);
    let missing: Vec<_> =
        RUNTIMES.iter().filter(|runtime| request.asks_for(runtime)).filter_map(|runtime| runtime.missing()).collect();

    let (mut started, mut rows) = (turns::Started::default(), Vec::new());
    for suite in &suites {
        rows.extend((suite.measure)(suite, &request, &mut started)?);
    }
    drop((started, request));

    let [csv, svg] = files;
    csv.map_or(Ok(()), |file| output::write(file, &row::to_csv(&rows)))?;
    svg.map_or(Ok(()), |file| output::write(file, &plot::plot(&rows)))?;
    let name = if let [one] = suites[..] { one.name } else { "all" };
    let text =
        if matches.get_flag("json") { row::to_json(name, &rows, &missing) } else { table::tables(&rows, &missing) };
    writeln!(std::io::stdout(), "{text}").map_err(|error| format!("cannot write the output: {error}"))?;
    Ok(all_is_well(&rows))
}

/// A requested graph that no requested suite has.
fn missed_shape(matches: &ArgMatches) -> Option<&String> {
    let mut shapes = matches.get_many::<String>("shape").into_iter().flatten();
    let has = |suite: &Suite, shape: &str| suite.shapes.iter().any(|(name, _)| *name == shape);
    shapes.find(|shape| !SUITES.iter().any(|suite| is_asked_for(matches, suite) && has(suite, shape)))
}

/// Whether this suite, or none, was named.
fn is_asked_for(matches: &ArgMatches, suite: &Suite) -> bool {
    matches.get_many::<String>("suite").is_none_or(|mut names| names.any(|name| name == suite.name))
}

fn request(matches: &ArgMatches) -> Request {
    let words = |name| matches.get_many::<String>(name).into_iter().flatten().cloned().collect();
    let workers = matches.get_many::<u64>("workers").into_iter().flatten().map(|n| *n as usize).collect();
    let quick = matches.get_flag("quick");
    let reps = matches.get_one::<u64>("reps").copied().unwrap_or(if quick { 2 } else { 15 });
    Request {
        shapes: words("shape"),
        runtimes: words("runtime"),
        workers,
        reps: reps as usize,
        part: if quick { QUICK } else { 1.0 },
        steps_per_ns: work::steps_per_ns(),
        progress: Progress::new(),
    }
}

/// Reports wrong answers and failures on stderr.
fn all_is_well(rows: &[Row]) -> bool {
    for row in rows.iter().filter(|row| !row.verified) {
        eprintln!("error: {}: the answer is wrong", row.name());
    }
    for why in rows.iter().filter_map(row::failure) {
        eprintln!("error: {why}");
    }
    rows.iter().all(|row| row.verified && row.failure.is_none())
}
