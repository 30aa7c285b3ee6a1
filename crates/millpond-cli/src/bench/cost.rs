//! What does a task cost, and does it depend on how many there are? Empty bodies, from 10⁴ to 10⁷ tasks.

use super::Request;
use super::row::Row;
use super::shares::{ran, shares};
use crate::failure::Failure;
use crate::stats::median;
use clap::Arg;
use clap::builder::PossibleValuesParser;
use millpond::{Handle, Runtime, Spawn};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

/// A graph of empty tasks.
struct Shape {
    name: &'static str,
    /// The numbers of tasks; the first is what the others are compared with.
    sizes: &'static [u64],
    /// Runs that many tasks; how many bodies ran, as the data tell.
    run: fn(&Runtime, u64) -> Result<u64, millpond::Error>,
}

static SHAPES: &[Shape] = &[
    Shape { name: "independent", sizes: &[10_000, 100_000, 1_000_000, 10_000_000], run: independent },
    Shape { name: "chain", sizes: &[10_000, 100_000, 1_000_000, 10_000_000], run: chain },
    Shape { name: "readers", sizes: &[100_000, 1_000_000, 10_000_000], run: readers },
];

/// A point is repeated within a measurement until it has taken this long.
const LEAST_SECONDS: f64 = 0.1;

/// The options of this suite.
pub fn args() -> Vec<Arg> {
    let shapes = PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name));
    let inline = PossibleValuesParser::new(["auto", "never"]);
    vec![
        Arg::new("shape").long("shape").value_name("NAME").value_parser(shapes).help("Measure this graph only"),
        Arg::new("inline")
            .long("inline")
            .value_name("WHEN")
            .value_parser(inline)
            .help("Whether ready short tasks run at their spawn [default: auto]"),
    ]
}

/// Measures every shape at every size; sizes by turns, so that all see the same machine.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let never = request.matches.get_one::<String>("inline").is_some_and(|when| when == "never");
    let inline = if never { millpond::Inline::Never } else { millpond::Inline::Auto };
    let runtime = request.config.build_inline(inline)?;
    let chosen = request.matches.get_one::<String>("shape");
    let mut rows = Vec::new();
    for shape in SHAPES.iter().filter(|shape| chosen.is_none_or(|name| name == shape.name)) {
        rows.extend(points(request, &runtime, shape)?);
    }
    Ok(rows)
}

fn points(request: &Request, runtime: &Runtime, shape: &Shape) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> = shape.sizes.iter().map(|&n| row(request, shape, n)).collect();
    for rep in 1..=request.reps {
        for row in &mut rows {
            request.progress.say(|| format!("{} of {}: {rep} of {}", shape.name, row.tasks, request.reps));
            once(runtime, shape, row)?;
        }
    }
    let base = median(&rows[0].seconds) / rows[0].tasks as f64;
    for row in &mut rows {
        let ratio = median(&row.seconds) / row.tasks as f64 / base;
        row.extra.push(("ratio", json!(ratio)));
    }
    Ok(rows)
}

fn row(request: &Request, shape: &Shape, tasks: u64) -> Row {
    Row {
        shape: shape.name,
        runtime: "millpond",
        config: request.config.json(),
        params: vec![("tasks", tasks)],
        tasks,
        seconds: Vec::new(),
        worker_shares: Vec::new(),
        verified: true,
        extra: Vec::new(),
    }
}

/// One measurement: as many runs as fill the least time, their mean.
fn once(runtime: &Runtime, shape: &Shape, row: &mut Row) -> Result<(), Failure> {
    let before = ran(runtime);
    let (start, mut runs) = (Instant::now(), 0.0);
    while runs == 0.0 || start.elapsed().as_secs_f64() < LEAST_SECONDS {
        row.verified &= (shape.run)(runtime, row.tasks)? == row.tasks;
        runs += 1.0;
    }
    row.seconds.push(start.elapsed().as_secs_f64() / runs);
    row.worker_shares = shares(&before, &ran(runtime));
    Ok(())
}

#[inline(never)]
fn count(n: &mut u64) {
    *n = black_box(*n + 1);
}

#[inline(never)]
fn nothing() {
    black_box(());
}

fn independent(runtime: &Runtime, tasks: u64) -> Result<u64, millpond::Error> {
    runtime.scope(|s| {
        for _ in 0..tasks {
            s.spawn((), |()| nothing());
        }
    })?;
    Ok(tasks)
}

fn chain(runtime: &Runtime, tasks: u64) -> Result<u64, millpond::Error> {
    let n = Handle::new(0);
    runtime.scope(|s| {
        for _ in 0..tasks {
            s.spawn(n.inout(), count);
        }
    })?;
    n.into_inner()
}

/// A writer, the readers, a writer.
fn readers(runtime: &Runtime, tasks: u64) -> Result<u64, millpond::Error> {
    let n = Handle::new(0);
    runtime.scope(|s| {
        s.spawn(n.inout(), |n| *n = tasks - 1);
        for _ in 0..tasks - 2 {
            s.spawn(n.read(), |n: &u64| {
                black_box(n);
            });
        }
        s.spawn(n.inout(), count);
    })?;
    n.into_inner()
}
