//! How long must a task be ([TG](crate#sources) §5.3, Fig. 10)? All tasks read the same object, or
//! one of a few objects, and work for a while. None runs at its spawn, so each goes through the
//! scheme and the pool, and may be stolen.

use super::compare;
use super::point::{Point, Program, Ran};
use super::round::measure;
use super::setting::Rule;
use super::{Request, cores, workers};
use crate::cycles::Watch;
use clap::{Arg, ArgAction};
use millpond::depend::Mode;
use millpond::{Builder, Engine, Handle, Runtime, Spawn};
use millpond_cli::suites::{
    Failure, Row, Suite, integer,
    spin::{self, spin},
};
use serde_json::json;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The suite.
pub const SUITE: Suite = Suite::new(
    "task-size",
    "Every scheme: delay and efficiency against the length of tasks that read",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps)?.measure(suite),
);

/// The default lengths of the bodies, in nanoseconds.
const BODIES: [u64; 12] = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000];
/// The work of a run, in nanoseconds, if the number of tasks is within its limits.
const WORK_NS: u64 = 1_000_000_000;
const MIN_TASKS: u64 = 1000;
const USUAL_TASKS: u64 = 100_000;
/// The maximum number of tasks in a run.
const MAX_TASKS: u64 = 10_000_000;
/// The assumed time of a task beyond its body, in nanoseconds.
const DELAY_NS: u64 = 100;
/// Runs of so many tasks predict the time of the first point of a series.
const PREDICTING: [u64; 2] = [1000, 10_000];

fn args() -> Vec<Arg> {
    let body =
        integer("body-ns", "NS", 1, 1_000_000, "Measure this length only; may be repeated [default: 100..500000]");
    let tasks = "Tasks in a run [default: as many as work for 1 s, 1000..100000]";
    let objects = "Objects read in rotation; may be repeated [default: 1 and twice the workers]";
    let seconds = "Choose the tasks so that a run takes about this time; the paper's runs take 1 to 10 s";
    vec![
        workers("the cores allowed"),
        body.action(ArgAction::Append),
        integer("objects", "N", 1, 1_000_000, objects).action(ArgAction::Append),
        integer("tasks", "N", 1, MAX_TASKS, tasks),
        integer("run-seconds", "S", 1, 1000, seconds).conflicts_with("tasks"),
    ]
}

struct Readers {
    objects: u64,
    tasks: u64,
    spins: u64,
    /// The serial program's result.
    wanted: OnceCell<Vec<u64>>,
}

/// The body of a task, and its result.
fn work(spins: u64, task: u64, object: u64) -> u64 {
    spin(spins, task.rotate_left(32) ^ object)
}

impl Readers {
    /// The results of all tasks, in order.
    fn all(&self) -> Vec<u64> {
        (0..self.tasks).map(|task| work(self.spins, task, task % self.objects)).collect()
    }
}

impl Program for Readers {
    fn bodies(&self) -> u64 {
        self.tasks
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        let wanted = self.wanted.get_or_init(|| self.all());
        let objects: Vec<_> = (0..self.objects).map(Handle::new).collect();
        let found: Vec<_> = (0..self.tasks).map(|_| AtomicU64::new(0)).collect();
        let (spins, watch) = (self.spins, Watch::start());
        runtime.scope(|s| {
            let places = found.iter().zip(objects.iter().cycle());
            for (task, (place, object)) in (0_u64..).zip(places) {
                s.spawn(object.read(), move |n| place.store(work(spins, task, *n), Relaxed));
            }
        })?;
        let timed = watch.stop();
        Ok(Ran::new(timed, found.into_iter().map(AtomicU64::into_inner).eq(wanted.iter().copied())))
    }

    fn serial(&self) -> Option<f64> {
        let watch = Watch::start();
        std::hint::black_box(self.all());
        Some(watch.stop().seconds)
    }
}

/// The tasks of a run with bodies of this length.
fn tasks(request: &Request, workers: usize, body_ns: u64) -> u64 {
    match request.matches.get_one::<u64>("run-seconds") {
        // The work is shared by the workers.
        Some(seconds) => (seconds * 1_000_000_000 * workers as u64 / (body_ns + DELAY_NS)).clamp(1, MAX_TASKS),
        None => request.number("tasks", (WORK_NS / body_ns).clamp(MIN_TASKS, USUAL_TASKS)),
    }
}

fn suite(request: &Request) -> Result<Vec<Row>, Failure> {
    let steps = spin::steps_per_ns();
    let bodies = request.numbers("body-ns", &BODIES);
    let mut series = Vec::new();
    for workers in request.workers(&[cores()]) {
        for objects in request.numbers("objects", &[1, 2 * workers as u64]) {
            let point = |(body_ns, tasks, asked): (u64, u64, bool)| Point {
                shape: if objects == 1 { "one-object" } else { "objects" },
                mode: Some(Mode::Read),
                setting: request.setting(workers, Rule::Never, Builder::DEFAULT_WINDOW),
                tasks,
                runs: 1,
                weight: (tasks * (body_ns + DELAY_NS)) as f64,
                asked,
                params: vec![("objects", objects), ("body_ns", body_ns), ("tasks", tasks)],
                labels: vec![("objects", json!(objects)), ("body_ns", json!(body_ns))],
                program: Readers { objects, tasks, spins: spin::steps(body_ns, steps), wanted: OnceCell::new() },
            };
            let asked: Vec<_> = bodies.iter().map(|&ns| (ns, tasks(request, workers, ns), true)).collect();
            let first = asked.first().copied();
            let fewer = first.into_iter().flat_map(|(ns, tasks, _)| {
                PREDICTING.into_iter().filter(move |&n| 10 * n <= tasks).map(move |n| (ns, n, false))
            });
            series.push(fewer.chain(asked.iter().copied()).map(point).collect());
        }
    }
    Ok(compare::rows(request, &measure(request, series)?))
}
