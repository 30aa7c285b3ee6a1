//! The number of arguments ([TG](crate#sources) §5.4, Fig. 11): the slow path with up to 20 `inout`
//! arguments per task. Each argument is another object. One shape has the arguments of the paper's
//! blackscholes.

use super::annotation::Gate;
use super::point::{Point, Program, Ran};
use super::round::measure;
use super::slow_path::{MAX_TASKS, held, ladder};
use super::{Request, workers};
use crate::cycles::Watch;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction};
use millpond::depend::Mode;
use millpond::{Engine, Handle, Out, Root, Runtime, Spawn};
use millpond_cli::suites::{Failure, Row, Suite, integer};
use serde_json::json;
use std::array;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The suite.
pub const SUITE: Suite = Suite::new(
    "args",
    "Every scheme: the slow path against the number of arguments",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps)?.measure(suite),
);

/// Numbers of arguments, each compiled separately.
const COUNTS: [u64; 7] = [1, 2, 4, 8, 12, 16, 20];
/// Arguments of blackscholes that tasks read. One more is written, and one is plain.
const INPUTS: usize = 6;
const TASKS: u64 = 1000;

fn args() -> Vec<Arg> {
    let counts = PossibleValuesParser::new(["1", "2", "4", "8", "12", "16", "20"]);
    let counts = counts.map(|text| text.parse::<u64>().expect("one of these numbers"));
    let args = Arg::new("args").long("args").value_name("N").value_parser(counts).action(ArgAction::Append);
    vec![
        workers("1 and 2"),
        args.help("Measure with this number of arguments only; may be repeated"),
        integer("tasks", "N", 1, MAX_TASKS, format!("Tasks behind the one that holds the objects [default: {TASKS}]")),
    ]
}

/// Tasks with this number of `inout` arguments; `None` is blackscholes.
struct Arguments {
    count: Option<u64>,
    tasks: u64,
}

impl Program for Arguments {
    fn bodies(&self) -> u64 {
        1 + self.tasks
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        match self.count {
            None => self.blackscholes(runtime),
            Some(1) => self.inouts::<E, 1>(runtime),
            Some(2) => self.inouts::<E, 2>(runtime),
            Some(4) => self.inouts::<E, 4>(runtime),
            Some(8) => self.inouts::<E, 8>(runtime),
            Some(12) => self.inouts::<E, 12>(runtime),
            Some(16) => self.inouts::<E, 16>(runtime),
            Some(_) => self.inouts::<E, 20>(runtime),
        }
    }
}

impl Arguments {
    fn inouts<E: Engine, const N: usize>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        let (objects, gate): ([Handle<u64>; N], _) = (array::from_fn(|_| Handle::new(0)), Held::default());
        let watch = runtime.scope(|s| {
            gate.hold(s, &objects);
            let watch = Watch::start();
            for _ in 0..self.tasks {
                s.spawn(objects.each_ref().map(Handle::inout), count);
            }
            gate.open();
            watch
        })?;
        let timed = watch.stop();
        let found = objects.into_iter().map(Handle::into_inner).collect::<Result<Vec<_>, _>>()?;
        Ok(Ran::new(timed, gate.held() && found.iter().all(|&n| n == self.tasks)))
    }

    /// PARSEC's blackscholes in the paper's version: a task has 8 arguments, of which 7 are
    /// annotated. All tasks have the same inputs.
    fn blackscholes<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        let (inputs, prices): ([_; INPUTS], _) = (array::from_fn(|n| Handle::new(n as u64)), Handle::unset());
        let gate = Held::default();
        let watch = runtime.scope(|s| {
            gate.hold(s, &inputs);
            let watch = Watch::start();
            for task in 0..self.tasks {
                let accesses = (inputs.each_ref().map(Handle::read), prices.write());
                s.spawn(accesses, move |(inputs, price)| put(inputs, price, task));
            }
            gate.open();
            watch
        })?;
        let timed = watch.stop();
        let sum: u64 = (0..INPUTS as u64).sum();
        Ok(Ran::new(timed, gate.held() && prices.into_inner()? == sum + self.tasks - 1))
    }
}

#[inline(never)]
fn count<const N: usize>(args: [&mut u64; N]) {
    args.into_iter().for_each(|n| *n += 1);
}

#[inline(never)]
fn put(inputs: [&u64; INPUTS], price: Out<u64>, task: u64) {
    price.set(inputs.into_iter().sum::<u64>() + task);
}

/// Holds several objects.
struct Held(Gate, AtomicBool);

impl Default for Held {
    fn default() -> Self {
        Self(Gate::new(), AtomicBool::new(false))
    }
}

impl Held {
    fn hold<'s, S: Spawn<'s, Brand = Root>>(&'s self, s: &S, objects: &[Handle<u64>]) {
        let all: Vec<_> = objects.iter().map(Handle::inout).collect();
        s.nest(all, |_, _| self.1.store(self.0.pass(), Relaxed));
    }

    fn open(&self) {
        self.0.open();
    }

    fn held(&self) -> bool {
        self.1.load(Relaxed)
    }
}

fn suite(request: &Request) -> Result<Vec<Row>, Failure> {
    let counts = request.numbers("args", &COUNTS).into_iter().map(Some);
    // If numbers are given, blackscholes is skipped.
    let counts: Vec<_> = counts.chain((!request.matches.contains_id("args")).then_some(None)).collect();
    let tasks = request.number("tasks", TASKS);
    let sizes = ladder(&[tasks]);
    let mut series = Vec::new();
    for workers in request.workers(&[1, 2]) {
        let setting = held(request, workers, tasks + 1)?;
        series.extend(counts.iter().map(|&count| {
            let args = count.unwrap_or(INPUTS as u64 + 1);
            let point = |&(tasks, asked): &(u64, bool)| Point {
                shape: if count.is_some() { "inout" } else { "blackscholes" },
                mode: Some(if count.is_some() { Mode::Inout } else { Mode::Write }),
                setting,
                tasks,
                runs: 1,
                weight: tasks as f64,
                asked,
                params: vec![("args", args), ("tasks", tasks)],
                labels: vec![("args", json!(args))],
                program: Arguments { count, tasks },
            };
            sizes.iter().map(point).collect::<Vec<_>>()
        }));
    }
    let all = measure(request, series)?;
    Ok(all.iter().flat_map(|point| point.rows(request.against)).collect())
}
