//! At which end of a stack should thieves begin? The paper says both ([DDS](crate#sources) §2, §4).
//! Alternately runs programs on runtimes that differ only in this.

use super::point::Point;
use super::{Request, halved};
use millpond::catalogue::{AnyRuntime, Names};
use millpond::stack::End;
use millpond::{Runtime, StackEngine, on_runtime};
use millpond_cli::suites::{Failure, Row, of_scheme};
use millpond_workloads::{Job, Options, Stopwatch, Value};
use serde_json::json;
use std::time::Duration;

/// The shape's name.
pub const NAME: &str = "ends";
/// The stack whose thieves begin at the youngest frame.
pub const NEWEST: &str = "stack-newest";

/// The variants: the name, and the end at which thieves begin.
const ENDS: [(&str, End, &str); 2] = [(StackEngine::NAME, End::Oldest, "oldest"), (NEWEST, End::Newest, "newest")];

/// Their names.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    ENDS.into_iter().map(|(name, ..)| name)
}

/// A workload, and its options for a size.
struct Program {
    name: &'static str,
    workload: &'static str,
    size: u64,
    options: fn(u64) -> Options,
}

static PROGRAMS: &[Program] = &[
    // Leaves of 1.4 µs, and almost empty ones.
    Program { name: "fib", workload: "fib", size: 40, options: |n| cut(n, 15) },
    Program { name: "fib-uncut", workload: "fib", size: 27, options: |n| cut(n, 0) },
    Program { name: "nqueens", workload: "nqueens", size: 11, options: |n| cut(n, 0) },
    Program { name: "knary", workload: "knary", size: 10, options: |n| cut(n, 4) },
    // All its tasks are in one frame, so the end makes no difference.
    Program {
        name: "stencil",
        workload: "stencil",
        size: 100_000,
        options: |points| Options::new().integer("n", points),
    },
];

/// A recursion without tasks below some depth.
fn cut(n: u64, cutoff: u64) -> Options {
    Options::new().integer("n", n).integer("cutoff", cutoff.min(n / 2))
}

impl Program {
    /// A job with at most this number of tasks.
    fn job(&self, most: u64) -> Result<Box<dyn Job>, Failure> {
        let workload = millpond_workloads::find(self.workload).expect("a workload of that name");
        let job = |size| (workload.prepare)(&(self.options)(size));
        let fits = |size| job(size).is_ok_and(|job| job.tasks() <= most);
        Ok(job(halved(self.size, fits).unwrap_or(1))?)
    }
}

/// Measures every program with both ends.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let workers = request.matches.get_one::<u64>("workers").map_or(2, |n| *n as usize);
    let wanted: Vec<_> = ENDS.into_iter().filter(|(name, ..)| request.wants("scheme", name)).collect();
    let runtimes = wanted.iter().map(|(_, end, _)| on(workers, *end)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for program in PROGRAMS {
        let mut job = program.job(request.most)?;
        let point = |&(name, _, end)| Point::new(row(program, job.as_ref(), workers, name, end));
        let mut points: Vec<_> = wanted.iter().map(point).collect();
        for rep in 1..=request.reps {
            request.progress.say(|| format!("{NAME}, {}: {rep} of {}", program.name, request.reps));
            for (point, rt) in points.iter_mut().zip(&runtimes) {
                point.measure(|| on_runtime!(rt, rt => rt.counts()), || once(job.as_mut(), rt))?;
            }
        }
        rows.extend(points.into_iter().map(Point::done));
    }
    Ok(rows)
}

fn on(workers: usize, end: End) -> Result<AnyRuntime, Failure> {
    let names = Names { scheme: StackEngine::NAME, ..Names::default() };
    let built = AnyRuntime::build(Runtime::builder().workers(workers).steal_from(end), names);
    built.map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))
}

fn once(job: &mut dyn Job, rt: &AnyRuntime) -> Result<(Duration, bool), Failure> {
    let mut watch = Stopwatch::default();
    job.run(rt, &mut watch)?;
    Ok((watch.elapsed, job.check()?.verified))
}

fn row(program: &Program, job: &dyn Job, workers: usize, runtime: &'static str, end: &str) -> Row {
    let mut config = of_scheme(StackEngine::NAME, workers);
    config["steal_from"] = json!(end);
    let integer = |(name, value)| if let Value::Integer(n) = value { Some((name, n)) } else { None };
    Row {
        shape: NAME,
        runtime,
        config,
        params: job.params().into_iter().filter_map(integer).collect(),
        tasks: job.tasks(),
        seconds: Vec::new(),
        worker_shares: Vec::new(),
        verified: true,
        extra: vec![("program", json!(program.name)), ("scheme", json!(runtime))],
    }
}
