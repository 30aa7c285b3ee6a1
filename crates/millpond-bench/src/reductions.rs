//! What a task that reduces or accumulates costs, compared with an `inout`, and recursions that
//! sum, compared with one that does not (`fib`) and with their serial programs.

use clap::Arg;
use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Engine, Error, Handle, Runtime, Spawn, StackEngine, Sum, on_runtime};
use millpond_cli::suites::{Failure, MAX_WORKERS, Progress, Row, Suite, integer, median, names, of_scheme, wants};
use millpond_workloads::{Job, Options, Stopwatch};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The suite's entry in the table.
pub const SUITE: Suite = Suite::new(
    "reductions",
    "A task that reduces or accumulates, compared with one of `inout`; recursions that sum",
    args,
    measure,
);

/// The schemes, the default one first.
const SCHEMES: [&str; 2] = ["parked", StackEngine::NAME];

fn args() -> Vec<Arg> {
    vec![
        names("scheme", SCHEMES, "Measure this scheme only; may be repeated"),
        integer("tasks", "N", 100, 10_000_000, "Leaves in a run, and ten times the parents [default: 200000]"),
        integer("workers", "N", 1, MAX_WORKERS, "Workers [default: 1]"),
        integer("n", "N", 4, 16, "Size of `nqueens`; `fib` and the trees have about as many tasks [default: 11]"),
    ]
}

/// A measured point.
struct Point {
    name: &'static str,
    /// The point that it is compared with, and the greatest ratio allowed by the project.
    base: Option<(&'static str, f64)>,
    work: Work,
}

enum Work {
    /// Tasks on one datum. The function returns the sum.
    Loop(Loop),
    Tasks(Box<dyn Job>),
    Serial(Box<dyn Job>),
}

/// One run of a loop: of the way to declare the datum, and the number of tasks.
#[derive(Clone, Copy)]
struct Loop {
    access: Access,
    parents: bool,
    tasks: u64,
}

#[derive(Clone, Copy)]
enum Access {
    Inout,
    Accumulate,
    Reduce,
}

fn measure(matches: &clap::ArgMatches, reps: usize) -> Result<Vec<Row>, Failure> {
    let number = |name, or| matches.get_one::<u64>(name).copied().unwrap_or(or);
    let (tasks, workers, n) = (number("tasks", 200_000), number("workers", 1) as usize, number("n", 11));
    let progress = Progress::new();
    let mut all = Vec::new();
    for scheme in SCHEMES.into_iter().filter(|scheme| wants(matches, "scheme", scheme)) {
        let names = Names { scheme, ..Names::default() };
        let built = AnyRuntime::build(Runtime::builder().workers(workers), names);
        let rt = built.map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))?;
        let mut points = points(tasks, n)?;
        let mut rows: Vec<_> = points.iter().map(|point| row(point, scheme, workers)).collect();
        for rep in 1..=reps {
            for (point, row) in points.iter_mut().zip(&mut rows) {
                progress.say(|| format!("{} on {scheme}: {rep} of {reps}", point.name));
                let (time, right) = point.work.once(&rt)?;
                row.seconds.push(time.as_secs_f64());
                row.verified &= right;
            }
        }
        compare(&points, &mut rows);
        all.extend(rows);
    }
    Ok(all)
}

fn points(tasks: u64, n: u64) -> Result<Vec<Point>, Failure> {
    let job = |name, options: Options| -> Result<Box<dyn Job>, Failure> {
        let workload = millpond_workloads::find(name).expect("a workload of that name");
        Ok((workload.prepare)(&options)?)
    };
    let sized = |size| Options::new().integer("n", size).integer("cutoff", 0);
    // At 10 levels, this is the tree T1.
    let tree = || Options::new().integer("depth", n.saturating_sub(1).clamp(1, 10));
    let one = |access, parents| Work::Loop(Loop { access, parents, tasks: if parents { tasks / 10 } else { tasks } });
    let point = |name, base, work| Point { name, base, work };
    Ok(vec![
        point("leaf-inout", None, one(Access::Inout, false)),
        point("leaf-accumulate", Some(("leaf-inout", 3.0)), one(Access::Accumulate, false)),
        point("leaf-reduce", Some(("leaf-inout", 8.0)), one(Access::Reduce, false)),
        point("parent-inout", None, one(Access::Inout, true)),
        point("parent-accumulate", Some(("parent-inout", 1.5)), one(Access::Accumulate, true)),
        point("parent-reduce", Some(("parent-inout", 1.5)), one(Access::Reduce, true)),
        point("fib", None, Work::Tasks(job("fib", sized(2 * n))?)),
        point("nqueens", Some(("fib", 5.0)), Work::Tasks(job("nqueens", sized(n))?)),
        point("uts-serial", None, Work::Serial(job("uts", tree())?)),
        point("uts", Some(("uts-serial", 2.5)), Work::Tasks(job("uts", tree())?)),
        point("uts-join", Some(("uts-serial", 1.15)), Work::Tasks(job("uts-join", tree())?)),
    ])
}

fn row(point: &Point, scheme: &'static str, workers: usize) -> Row {
    let tasks = match &point.work {
        Work::Loop(one) => one.tasks,
        Work::Tasks(job) | Work::Serial(job) => job.tasks(),
    };
    Row {
        shape: point.name,
        runtime: scheme,
        config: of_scheme(scheme, workers),
        params: Vec::new(),
        tasks,
        seconds: Vec::new(),
        worker_shares: Vec::new(),
        verified: true,
        extra: vec![("scheme", json!(scheme)), ("workers", json!(workers))],
    }
}

/// Adds each point's ratio to its base: the median of the ratios of the repetitions.
fn compare(points: &[Point], rows: &mut [Row]) {
    let per_task = |row: &Row| -> Vec<f64> { row.seconds.iter().map(|seconds| seconds / row.tasks as f64).collect() };
    let times: Vec<_> = rows.iter().map(|row| (row.shape, per_task(row), row.seconds.clone())).collect();
    for (point, row) in points.iter().zip(rows) {
        let Some((base, most)) = point.base else {
            row.extra.extend(["base", "ratio", "at_most"].map(|name| (name, Value::Null)));
            continue;
        };
        let base = times.iter().find(|(name, ..)| *name == base).expect("it is a point, too");
        // A serial program has no tasks: the whole times are compared.
        let (own, other) =
            if base.0 == "uts-serial" { (row.seconds.clone(), &base.2) } else { (per_task(row), &base.1) };
        let ratios: Vec<_> = own.iter().zip(other).map(|(own, base)| own / base).collect();
        row.extra.extend([("base", json!(base.0)), ("ratio", json!(median(&ratios))), ("at_most", json!(most))]);
    }
}

impl Work {
    /// Runs it once. Returns the time, and whether the result is right.
    fn once(&mut self, rt: &AnyRuntime) -> Result<(Duration, bool), Failure> {
        let mut watch = Stopwatch::default();
        let job = match self {
            Work::Loop(one) => {
                let start = Instant::now();
                let sum = on_runtime!(rt, rt => one.run(rt))?;
                return Ok((start.elapsed(), sum == one.tasks * (one.tasks - 1) / 2));
            }
            Work::Tasks(job) => {
                job.run(rt, &mut watch)?;
                job
            }
            Work::Serial(job) => {
                job.serial(&mut watch)?;
                job
            }
        };
        Ok((watch.elapsed, job.check()?.verified))
    }
}

impl Loop {
    fn run<E: Engine>(self, rt: &Runtime<E>) -> Result<u64, Error> {
        let (sum, tasks) = (Handle::new(0_u64), 0..self.tasks);
        rt.scope(|s| match (self.access, self.parents) {
            (Access::Inout, false) => tasks.for_each(|n| drop(s.spawn(sum.inout(), move |sum| *sum += black_box(n)))),
            (Access::Accumulate, false) => {
                tasks.for_each(|n| drop(s.spawn(sum.accumulate(Sum), move |mut sum| sum.add(black_box(n)))));
            }
            (Access::Reduce, false) => {
                tasks.for_each(|n| drop(s.spawn(sum.reduce(Sum), move |sum| *sum += black_box(n))));
            }
            (Access::Inout, true) => tasks.for_each(|n| {
                s.nest(sum.inout(), move |s, sum| {
                    s.spawn(sum.inout(), move |sum| *sum += black_box(n));
                });
            }),
            (Access::Accumulate, true) => tasks.for_each(|n| {
                s.nest(sum.accumulate(Sum), move |s, sum| {
                    s.spawn(sum.accumulate(), move |mut sum| sum.add(black_box(n)));
                });
            }),
            (Access::Reduce, true) => tasks.for_each(|n| {
                s.nest(sum.reduce(Sum), move |s, sum| {
                    s.spawn(sum.reduce(Sum), move |sum| *sum += black_box(n));
                });
            }),
        })?;
        sum.into_inner()
    }
}
