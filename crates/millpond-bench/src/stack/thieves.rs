//! Compares two kinds of thieves: at which end of a stack they begin, or how they choose victims
//! and how much they take. Alternately runs programs on runtimes that differ only in this.

use super::point::Point;
use super::{Request, halved};
use millpond::catalogue::{AnyRuntime, Names};
use millpond::stack::{End, Theft};
use millpond::{Runtime, StackEngine, on_runtime};
use millpond_cli::suites::{Failure, Row, of_scheme};
use millpond_workloads::{Job, Options, Stopwatch, Value};
use serde_json::json;
use std::time::Duration;

/// A comparison of two stacks, which differ in one setting of their thieves.
pub struct Comparison {
    /// The shape's name.
    pub name: &'static str,
    /// The setting, as a field of the configuration.
    setting: &'static str,
    stacks: [Stack; 2],
    programs: &'static [&'static [Program]],
}

/// A stack, and its thieves.
#[derive(Clone, Copy)]
struct Stack {
    /// Its name as a scheme.
    name: &'static str,
    /// The value of the setting that differs.
    value: &'static str,
    end: End,
    theft: Theft,
}

/// The stack with its default settings. `value` is the default of the setting that is compared.
const fn default(value: &'static str) -> Stack {
    Stack { name: StackEngine::NAME, value, end: End::Oldest, theft: Theft::Chains }
}

pub static COMPARISONS: [Comparison; 2] = [
    // The paper names both ends (DDS §2, §4).
    Comparison {
        name: "ends",
        setting: "steal_from",
        stacks: [default("oldest"), Stack { name: "stack-newest", end: End::Newest, ..default("newest") }],
        programs: &[PROGRAMS],
    },
    Comparison {
        name: "thefts",
        setting: "theft",
        stacks: [default("chains"), Stack { name: "stack-paper", theft: Theft::Paper, ..default("paper") }],
        programs: &[PROGRAMS, LONGER],
    },
];

impl Comparison {
    /// The names of the two stacks. The first one is the default.
    pub fn schemes(&self) -> impl Iterator<Item = &'static str> {
        self.stacks.iter().map(|stack| stack.name)
    }

    /// Measures every program on both stacks.
    pub fn measure(&self, request: &Request) -> Result<Vec<Row>, Failure> {
        let workers = request.matches.get_one::<u64>("workers").map_or(2, |n| *n as usize);
        let wanted: Vec<_> = self.stacks.iter().filter(|stack| request.wants("scheme", stack.name)).collect();
        let runtimes = wanted.iter().map(|stack| stack.runtime(workers)).collect::<Result<Vec<_>, _>>()?;
        let mut rows = Vec::new();
        for program in self.programs.iter().copied().flatten().filter(|_| !wanted.is_empty()) {
            let mut job = program.job(request.most)?;
            let point = |&stack: &&Stack| Point::new(self.row(program, job.as_ref(), workers, stack));
            let mut points: Vec<_> = wanted.iter().map(point).collect();
            for rep in 1..=request.reps {
                request.progress.say(|| format!("{}, {}: {rep} of {}", self.name, program.name, request.reps));
                for (point, rt) in points.iter_mut().zip(&runtimes) {
                    point.measure(|| on_runtime!(rt, rt => rt.counts()), || once(job.as_mut(), rt))?;
                }
            }
            rows.extend(points.into_iter().map(Point::done));
        }
        Ok(rows)
    }

    fn row(&self, program: &Program, job: &dyn Job, workers: usize, stack: &Stack) -> Row {
        let mut config = of_scheme(StackEngine::NAME, workers);
        config[self.setting] = json!(stack.value);
        let integer = |(name, value)| if let Value::Integer(n) = value { Some((name, n)) } else { None };
        Row {
            shape: self.name,
            runtime: stack.name,
            config,
            params: job.params().into_iter().filter_map(integer).collect(),
            tasks: job.tasks(),
            seconds: Vec::new(),
            worker_shares: Vec::new(),
            verified: true,
            extra: vec![("program", json!(program.name)), ("scheme", json!(stack.name))],
        }
    }
}

impl Stack {
    fn runtime(&self, workers: usize) -> Result<AnyRuntime, Failure> {
        let names = Names { scheme: StackEngine::NAME, ..Names::default() };
        let builder = Runtime::builder().workers(workers).steal_from(self.end).theft(self.theft);
        let built = AnyRuntime::build(builder, names);
        built.map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))
    }
}

/// A workload, and its options for a size.
struct Program {
    name: &'static str,
    workload: &'static str,
    size: u64,
    options: fn(u64) -> Options,
}

const PROGRAMS: &[Program] = &[
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

/// Tasks of some microseconds, all in one frame. They are long enough for a theft of one of them.
const LONGER: &[Program] = &[
    Program {
        name: "stencil-10000",
        workload: "stencil",
        size: 2_000_000,
        options: |points| Options::new().integer("n", points).integer("tile", points.min(10_000)),
    },
    // Each tile of the product is a chain.
    Program {
        name: "matmul",
        workload: "matmul",
        size: 384,
        options: |order| Options::new().integer("n", order).integer("tile", order.min(16)),
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

fn once(job: &mut dyn Job, rt: &AnyRuntime) -> Result<(Duration, bool), Failure> {
    let mut watch = Stopwatch::default();
    job.run(rt, &mut watch)?;
    Ok((watch.elapsed, job.check()?.verified))
}
