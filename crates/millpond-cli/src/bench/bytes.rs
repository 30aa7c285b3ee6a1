//! How much memory does an outstanding task take? The suite spawns many tasks with one access, all
//! in flight together, and measures how much the process's memory grows.
//!
//! Freed memory is reused before the process grows. So each measurement of a point has its own
//! process, one after the other.

use super::Request;
use super::row::Row;
use super::shares::{ran, ran_since};
use crate::args::integer;
use crate::failure::Failure;
use crate::rss;
use crate::stats::median;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Inline, Spawn, on_runtime};
use serde_json::{Value, json};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// The accesses of the tasks, and what blocks them.
struct Shape {
    name: &'static str,
    /// Whether they share one datum. Otherwise each task has its own.
    shared: bool,
    /// Whether an earlier task changes all the data. Without it, they are ready and wait in the
    /// pool.
    behind: bool,
    /// Whether they change their data. Otherwise they read it.
    changes: bool,
}

static SHAPES: &[Shape] = &[
    Shape { name: "own", shared: false, behind: true, changes: true },
    Shape { name: "readers", shared: true, behind: true, changes: false },
    Shape { name: "chain", shared: true, behind: true, changes: true },
    Shape { name: "ready", shared: false, behind: false, changes: true },
];

/// The options of this suite.
pub fn args() -> Vec<Arg> {
    let shapes = PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name));
    let shape = Arg::new("shape").long("shape").value_name("NAME").value_parser(shapes);
    vec![
        shape.action(ArgAction::Append).help("Measure this graph only; may be repeated"),
        integer("tasks", "N", 1000, 100_000_000, "Tasks that are outstanding together [default: 1000000]"),
    ]
}

/// Measures every graph.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let matches = request.matches;
    for fixed in ["workers", "window"] {
        if matches.value_source(fixed) == Some(ValueSource::CommandLine) {
            let says = "has one worker and no window, so that every task is outstanding at once";
            return Err(Failure::Usage(format!("--{fixed}: bytes {says}")));
        }
    }
    let chosen = matches.get_many::<String>("shape").map(|all| all.cloned().collect::<Vec<_>>());
    let is_chosen = |shape: &&Shape| chosen.as_ref().is_none_or(|names| names.iter().any(|name| name == shape.name));
    let shapes: Vec<_> = SHAPES.iter().filter(is_chosen).collect();
    let tasks = matches.get_one::<u64>("tasks").copied().unwrap_or(1_000_000);
    match shapes[..] {
        [shape] if request.reps == 1 => Ok(vec![point(request, shape, &[here(request, shape, tasks)?], tasks)]),
        _ => shapes.into_iter().map(|shape| elsewhere(request, shape, tasks)).collect(),
    }
}

/// One measurement.
struct Once {
    seconds: f64,
    bytes_per_task: f64,
    verified: bool,
}

fn point(request: &Request, shape: &Shape, runs: &[Once], tasks: u64) -> Row {
    let bytes: Vec<_> = runs.iter().map(|run| run.bytes_per_task).collect();
    Row {
        shape: shape.name,
        runtime: "millpond",
        config: request.config.with_workers(1).without_window().json(),
        params: vec![("tasks", tasks)],
        tasks,
        seconds: runs.iter().map(|run| run.seconds).collect(),
        worker_shares: vec![1.0],
        verified: runs.iter().all(|run| run.verified),
        extra: vec![("bytes_per_task", json!(median(&bytes)))],
    }
}

/// Measures a graph in separate processes, one per repetition.
fn elsewhere(request: &Request, shape: &Shape, tasks: u64) -> Result<Row, Failure> {
    let failed = |what: String| Failure::Failed(format!("{}, {tasks} tasks: {what}", shape.name));
    let mut runs = Vec::new();
    for rep in 1..=request.reps {
        request.progress.say(|| format!("{}: {rep} of {}", shape.name, request.reps));
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["bench", "bytes", "--json", "--reps", "1", "--shape", shape.name]);
        command.args(["--tasks", &tasks.to_string()]).args(request.config.parts());
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let row = &rows["rows"][0];
        let (Some(seconds), Some(bytes_per_task), Some(verified)) =
            (row["median_seconds"].as_f64(), row["bytes_per_task"].as_f64(), row["verified"].as_bool())
        else {
            let says = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{}: {}", output.status, says.trim().trim_start_matches("error: "))));
        };
        runs.push(Once { seconds, bytes_per_task, verified });
    }
    Ok(point(request, shape, &runs, tasks))
}

/// Measures a graph in this process. No task runs before all are spawned, because the only worker
/// spawns without a pause.
fn here(request: &Request, shape: &Shape, tasks: u64) -> Result<Once, Failure> {
    let runtime = request.config.with_workers(1).without_window().build_inline(Inline::Never)?;
    let once = hold(&runtime, shape, tasks)?;
    once.ok_or_else(|| Failure::Failed("cannot read the memory in use from /proc/self/status".to_owned()))
}

/// Spawns the tasks and runs them; `None` if the system does not report the memory in use.
fn hold(runtime: &AnyRuntime, shape: &Shape, tasks: u64) -> Result<Option<Once>, millpond::Error> {
    let data: Vec<Handle<u64>> = (0..if shape.shared { 1 } else { tasks }).map(|_| Handle::new(0)).collect();
    let ran_before = ran(runtime);
    let (start, before, after) = on_runtime!(runtime, rt => rt.scope(|s| spawn(s, shape, &data, tasks)))?;
    let seconds = start.elapsed().as_secs_f64();
    let ran: u64 = ran_since(&ran_before, runtime).iter().sum();
    let values = data.into_iter().map(Handle::into_inner).collect::<Result<Vec<_>, _>>()?;
    let changes = if shape.changes { tasks } else { 0 };
    let verified = ran == tasks + u64::from(shape.behind) && values.iter().sum::<u64>() == changes;
    let bytes_per_task = after.saturating_sub(before) as f64 / tasks as f64;
    Ok((before > 0).then_some(Once { seconds, bytes_per_task, verified }))
}

/// Spawns the tasks. Returns the time of the first spawn, and the maximum memory in use before and
/// after.
fn spawn<'s, S: Spawn<'s>>(s: &S, shape: &Shape, data: &[Handle<u64, S::Brand>], tasks: u64) -> (Instant, u64, u64) {
    if shape.behind {
        s.spawn(data.iter().map(Handle::inout).collect::<Vec<_>>(), |_| ());
    }
    let datum = |task| &data[if shape.shared { 0 } else { task as usize }];
    rss::reset();
    let (start, before) = (Instant::now(), rss::peak());
    for task in 0..tasks {
        if shape.changes {
            s.spawn(datum(task).inout(), |n| *n += 1);
        } else {
            s.spawn(datum(task).read(), |n| {
                black_box(*n);
            });
        }
    }
    (start, before, rss::peak())
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::Runtime;
    use millpond::catalogue::Names;

    #[test]
    fn every_graph_is_verified() {
        let builder = Runtime::builder().workers(1).window(1 << 20).inline(Inline::Never);
        for names in Names::star() {
            let runtime = AnyRuntime::build(builder.clone(), names).expect("a runtime");
            for shape in SHAPES {
                let once = hold(&runtime, shape, 1000).expect("nothing fails").expect("the system says");
                assert!(once.verified, "{}, {names}", shape.name);
            }
        }
    }
}
