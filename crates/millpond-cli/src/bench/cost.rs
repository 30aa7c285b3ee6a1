//! What does a task cost, and does the cost depend on the number of tasks? The bodies count or set
//! a mark, from 10⁴ to 10⁷ tasks. Another graph has readers that all wait for one writer, without a
//! window.

use super::Request;
use super::row::Row;
use super::shares::{ran, ran_since, shares};
use crate::config::Config;
use crate::failure::Failure;
use crate::stats::median;
use clap::builder::PossibleValuesParser;
use clap::{Arg, value_parser};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Spawn, on_runtime};
use serde_json::json;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// A graph of almost empty tasks.
struct Shape {
    name: &'static str,
    /// Whether it has no window, because all its tasks must be in flight together.
    unbounded: bool,
    /// The numbers of tasks. The others are compared with the first.
    sizes: &'static [u64],
    /// Runs this number of tasks. Returns the time, and whether the data show that each ran once.
    run: fn(&AnyRuntime, u64) -> Result<(Duration, bool), millpond::Error>,
}

static SHAPES: &[Shape] = &[
    Shape { name: "independent", unbounded: false, sizes: &[10_000, 100_000, 1_000_000, 10_000_000], run: independent },
    Shape { name: "chain", unbounded: false, sizes: &[10_000, 100_000, 1_000_000, 10_000_000], run: chain },
    Shape { name: "readers", unbounded: false, sizes: &[100_000, 1_000_000, 10_000_000], run: readers },
    Shape { name: "readers-parked", unbounded: true, sizes: &[100_000, 1_000_000], run: readers_parked },
];

/// A measurement repeats a point for at least this time.
const MIN_SECONDS: f64 = 0.1;

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
        Arg::new("tasks")
            .long("tasks")
            .value_name("N")
            // Each graph has a small enough size.
            .value_parser(value_parser!(u64).range(100_000..))
            .default_value("10000000")
            .help("Measure no graph of more tasks"),
    ]
}

/// Measures every shape at every size. The sizes alternate, so that other load affects all.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let never = request.matches.get_one::<String>("inline").is_some_and(|when| when == "never");
    let inline = if never { millpond::Inline::Never } else { millpond::Inline::Auto };
    let chosen = request.matches.get_one::<String>("shape");
    let mut rows = Vec::new();
    for shape in SHAPES.iter().filter(|shape| chosen.is_none_or(|name| name == shape.name)) {
        let config = if shape.unbounded { request.config.without_window() } else { request.config.clone() };
        rows.extend(points(request, &config, &config.build_inline(inline)?, shape)?);
    }
    Ok(rows)
}

fn points(request: &Request, config: &Config, runtime: &AnyRuntime, shape: &Shape) -> Result<Vec<Row>, Failure> {
    let most = *request.matches.get_one::<u64>("tasks").expect("it has a default");
    let sizes = shape.sizes.iter().filter(|&&n| n <= most);
    let mut rows: Vec<Row> = sizes.map(|&n| row(config, shape, n)).collect();
    let mut bodies = vec![vec![0; ran(runtime).len()]; rows.len()];
    for rep in 1..=request.reps {
        for (row, bodies) in rows.iter_mut().zip(&mut bodies) {
            request.progress.say(|| format!("{} of {}: {rep} of {}", shape.name, row.tasks, request.reps));
            let before = ran(runtime);
            once(runtime, shape, row)?;
            bodies.iter_mut().zip(ran_since(&before, runtime)).for_each(|(sum, ran)| *sum += ran);
        }
    }
    let base = median(&rows[0].seconds) / rows[0].tasks as f64;
    for (row, bodies) in rows.iter_mut().zip(&bodies) {
        let ratio = median(&row.seconds) / row.tasks as f64 / base;
        row.extra.push(("ratio", json!(ratio)));
        row.worker_shares = shares(bodies);
    }
    Ok(rows)
}

fn row(config: &Config, shape: &Shape, tasks: u64) -> Row {
    Row {
        shape: shape.name,
        runtime: "millpond",
        config: config.json(),
        params: vec![("tasks", tasks)],
        tasks,
        seconds: Vec::new(),
        worker_shares: Vec::new(),
        verified: true,
        extra: Vec::new(),
    }
}

/// One measurement: the mean of enough runs for the minimum time.
fn once(runtime: &AnyRuntime, shape: &Shape, row: &mut Row) -> Result<(), Failure> {
    let (mut seconds, mut runs) = (0.0, 0.0);
    while seconds < MIN_SECONDS {
        let (time, right) = (shape.run)(runtime, row.tasks)?;
        row.verified &= right;
        seconds += time.as_secs_f64();
        runs += 1.0;
    }
    row.seconds.push(seconds / runs);
    Ok(())
}

/// One mark per task. The body needs no read-modify-write, because no other task accesses its mark.
fn marks(tasks: u64) -> Vec<AtomicU8> {
    (0..tasks).map(|_| AtomicU8::new(0)).collect()
}

#[inline(never)]
fn mark(mark: &AtomicU8) {
    mark.store(mark.load(Relaxed) + 1, Relaxed);
}

fn all_once(marks: Vec<AtomicU8>) -> bool {
    marks.into_iter().all(|mark| mark.into_inner() == 1)
}

#[inline(never)]
fn count(n: &mut u64) {
    *n = black_box(*n + 1);
}

fn independent(runtime: &AnyRuntime, tasks: u64) -> Result<(Duration, bool), millpond::Error> {
    let marks = marks(tasks);
    let start = Instant::now();
    on_runtime!(runtime, rt => rt.scope(|s| spawn_independent(s, &marks)))?;
    Ok((start.elapsed(), all_once(marks)))
}

fn spawn_independent<'s, S: Spawn<'s>>(s: &S, marks: &'s [AtomicU8]) {
    for one in marks {
        s.spawn((), move |()| mark(one));
    }
}

fn chain(runtime: &AnyRuntime, tasks: u64) -> Result<(Duration, bool), millpond::Error> {
    let n = Handle::new(0);
    let start = Instant::now();
    on_runtime!(runtime, rt => rt.scope(|s| spawn_chain(s, &n, tasks)))?;
    Ok((start.elapsed(), n.into_inner()? == tasks))
}

fn spawn_chain<'s, S: Spawn<'s>>(s: &S, n: &Handle<u64, S::Brand>, tasks: u64) {
    for _ in 0..tasks {
        s.spawn(n.inout(), count);
    }
}

/// A writer, the readers, a writer.
fn readers(runtime: &AnyRuntime, tasks: u64) -> Result<(Duration, bool), millpond::Error> {
    let (n, marks) = (Handle::new(0_u64), marks(tasks - 2));
    let start = Instant::now();
    on_runtime!(runtime, rt => rt.scope(|s| {
        s.spawn(n.inout(), count);
        spawn_readers(s, &n, &marks);
        s.spawn(n.inout(), count);
    }))?;
    Ok((start.elapsed(), n.into_inner()? == 2 && all_once(marks)))
}

fn spawn_readers<'s, S: Spawn<'s>>(s: &S, n: &Handle<u64, S::Brand>, marks: &'s [AtomicU8]) {
    for one in marks {
        s.spawn(n.read(), move |n: &u64| {
            black_box(n);
            mark(one);
        });
    }
}

/// A writer that finishes when all readers are spawned. It is a parent, because a parent does not
/// run at its spawn.
fn readers_parked(runtime: &AnyRuntime, tasks: u64) -> Result<(Duration, bool), millpond::Error> {
    // The two others are the parent and its child.
    let (n, marks) = (Handle::new(0_u64), marks(tasks - 2));
    let start = Instant::now();
    on_runtime!(runtime, rt => rt.scope(|s| spawn_behind(s, &n, &marks)))?;
    Ok((start.elapsed(), n.into_inner()? == 1 && all_once(marks)))
}

fn spawn_behind<'s, S: Spawn<'s>>(s: &S, n: &Handle<u64, S::Brand>, marks: &'s [AtomicU8]) {
    let (open, opened) = channel::<()>();
    s.nest(n.inout(), move |s, n| {
        // Returns an error as soon as the other end is dropped.
        let _ = opened.recv();
        s.spawn(n.inout(), count);
    });
    spawn_readers(s, n, marks);
    drop(open);
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::Runtime;
    use millpond::catalogue::Names;

    #[test]
    fn every_shape_is_verified() {
        for (workers, names) in Names::star().flat_map(|names| [(1, names), (2, names)]) {
            let builder = Runtime::builder().workers(workers).window(10_000);
            let runtime = AnyRuntime::build(builder, names).expect("a runtime");
            for shape in SHAPES {
                let right = (shape.run)(&runtime, 1000).expect("nothing fails").1;
                assert!(right, "{}, {names}, {workers} workers", shape.name);
            }
        }
    }

    #[test]
    fn tasks_that_did_not_run_or_ran_twice_are_noticed() {
        let (none, one, two) = (AtomicU8::new(0), AtomicU8::new(0), AtomicU8::new(0));
        mark(&one);
        (0..2).for_each(|_| mark(&two));
        assert!(!all_once(vec![none]) && all_once(vec![one]) && !all_once(vec![two]));
    }
}
