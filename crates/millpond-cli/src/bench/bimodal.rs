//! Does one long task among many short ones delay the others? By default, one task in a thousand
//! takes 1 ms, the others 0.2 µs. All are independent and of one kind, so the runtime cannot tell
//! which are long.

use super::Request;
use super::row::Row;
use super::shares::{ran, ran_since, shares};
use super::spin::{self, spin};
use crate::args::integer;
use crate::failure::Failure;
use crate::stats::median;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use millpond::catalogue::AnyRuntime;
use millpond::{Spawn, on_runtime};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Where the long tasks are.
struct Shape {
    name: &'static str,
    /// Whether the task at an index is long, given the index of the long one in its stretch.
    is_long: fn(&Mix, at: u64, chosen: u64) -> bool,
}

static SHAPES: &[Shape] = &[
    Shape {
        name: "uniform",
        is_long: |mix, at, chosen| at / mix.one_in < mix.long_tasks() && at % mix.one_in == chosen,
    },
    Shape { name: "clustered-first", is_long: |mix, at, _| at < mix.long_tasks() },
    Shape { name: "clustered-last", is_long: |mix, at, _| at >= mix.tasks - mix.long_tasks() },
];

/// The options of this suite.
pub fn args() -> Vec<Arg> {
    let shapes = PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name));
    let shape = Arg::new("shape").long("shape").value_name("NAME").value_parser(shapes);
    vec![
        shape.action(ArgAction::Append).help("Measure this order only; may be repeated"),
        integer("tasks", "N", 1, 100_000_000, "Tasks in a run [default: 250000]"),
        integer("one-in", "N", 1, 100_000_000, "One task in N is long [default: 1000]"),
        integer("long-ns", "NS", 1, 1_000_000_000, "How long that is [default: 1000000]"),
        integer("short-ns", "NS", 1, 1_000_000_000, "How long the others are [default: 200]"),
        integer("seed", "S", 0, u64::MAX, "Of the places of the long ones [default: 1]"),
    ]
}

/// The parameters of the mix.
struct Mix {
    tasks: u64,
    one_in: u64,
    long_ns: u64,
    short_ns: u64,
    seed: u64,
}

impl Mix {
    fn new(matches: &ArgMatches) -> Self {
        let number = |name, default| matches.get_one::<u64>(name).copied().unwrap_or(default);
        Self {
            tasks: number("tasks", 250_000),
            one_in: number("one-in", 1000),
            long_ns: number("long-ns", 1_000_000),
            short_ns: number("short-ns", 200),
            seed: number("seed", 1),
        }
    }

    fn long_tasks(&self) -> u64 {
        self.tasks / self.one_in
    }

    /// The steps of each task, in spawn order. Each full stretch of `one_in` has one long task, or
    /// all long ones are consecutive.
    fn steps(&self, shape: &Shape, steps_per_ns: f64) -> Vec<u64> {
        let [long, short] = [self.long_ns, self.short_ns].map(|ns| spin::steps(ns, steps_per_ns));
        let (mut random, mut chosen) = (self.seed, 0);
        let mut is_long = |at| {
            if at % self.one_in == 0 {
                random = spin(1, random);
                // The high bits are the random ones.
                chosen = (random >> 32) % self.one_in;
            }
            (shape.is_long)(self, at, chosen)
        };
        (0..self.tasks).map(|at| if is_long(at) { long } else { short }).collect()
    }

    fn params(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("tasks", self.tasks),
            ("one_in", self.one_in),
            ("long_ns", self.long_ns),
            ("short_ns", self.short_ns),
            ("seed", self.seed),
        ]
    }
}

/// Measures every order.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let chosen = request.matches.get_many::<String>("shape").map(|all| all.cloned().collect::<Vec<_>>());
    let is_chosen = |shape: &&Shape| chosen.as_ref().is_none_or(|names| names.iter().any(|name| name == shape.name));
    let (mix, steps_per_ns) = (Mix::new(request.matches), spin::steps_per_ns());
    let runtime = request.config.build()?;
    SHAPES.iter().filter(is_chosen).map(|shape| point(request, &runtime, &mix, shape, steps_per_ns)).collect()
}

/// Measures one order. Serial and parallel runs alternate, so that other load affects both.
fn point(request: &Request, runtime: &AnyRuntime, mix: &Mix, shape: &Shape, per_ns: f64) -> Result<Row, Failure> {
    let steps = mix.steps(shape, per_ns);
    let wanted = Results::new(&steps);
    let before = ran(runtime);
    let (mut serial, mut seconds, mut verified) = (Vec::new(), Vec::new(), true);
    for rep in 1..=request.reps {
        request.progress.say(|| format!("{}: {rep} of {}", shape.name, request.reps));
        let start = Instant::now();
        (0..steps.len()).for_each(|at| wanted.task(at));
        serial.push(start.elapsed().as_secs_f64());
        let found = Results::new(&steps);
        let start = Instant::now();
        on_runtime!(runtime, rt => rt.scope(|s| found.spawn(s)))?;
        seconds.push(start.elapsed().as_secs_f64());
        verified &= found.same(&wanted);
    }
    let serial = median(&serial);
    let speedup = serial / median(&seconds);
    Ok(Row {
        shape: shape.name,
        runtime: "millpond",
        config: request.config.json(),
        params: mix.params(),
        tasks: mix.tasks,
        seconds,
        worker_shares: shares(&ran_since(&before, runtime)),
        verified,
        extra: vec![("serial_seconds", json!(serial)), ("speedup", json!(speedup))],
    })
}

/// The results of the tasks, one element per task.
struct Results<'a> {
    steps: &'a [u64],
    values: Vec<AtomicU64>,
}

impl<'a> Results<'a> {
    fn new(steps: &'a [u64]) -> Self {
        Self { steps, values: steps.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    /// The body, long or short. It needs no read-modify-write, because no other task accesses its
    /// element.
    fn task(&self, at: usize) {
        self.values[at].store(spin(self.steps[at], at as u64), Relaxed);
    }

    /// Spawns a task for each element.
    fn spawn<'s, S: Spawn<'s>>(&'s self, s: &S) {
        for at in 0..self.steps.len() {
            s.spawn((), move |()| self.task(at));
        }
    }

    fn same(&self, other: &Results) -> bool {
        self.values.iter().zip(&other.values).all(|(one, other)| one.load(Relaxed) == other.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_as_many_long_tasks() {
        let mix = Mix { tasks: 1234, one_in: 100, long_ns: 9, short_ns: 2, seed: 1 };
        for shape in SHAPES {
            let steps = mix.steps(shape, 1.0);
            let long: Vec<_> = (0..steps.len()).filter(|&at| steps[at] == 9).collect();
            assert_eq!((steps.len(), long.len()), (1234, 12), "{}", shape.name);
            match shape.name {
                "clustered-first" => assert_eq!(long, (0..12).collect::<Vec<_>>()),
                "clustered-last" => assert_eq!(long, (1222..1234).collect::<Vec<_>>()),
                _ => assert_eq!(long.iter().map(|at| at / 100).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>()),
            }
        }
    }

    #[test]
    fn a_task_that_did_not_run_is_noticed() {
        let steps = [1, 2, 3];
        let (all, some) = (Results::new(&steps), Results::new(&steps));
        (0..3).for_each(|at| all.task(at));
        (0..2).for_each(|at| some.task(at));
        assert!(all.same(&all) && !some.same(&all));
    }
}
