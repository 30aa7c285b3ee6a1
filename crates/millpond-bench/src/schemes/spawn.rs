//! The fast path ([TG](crate#sources) §5.1, Fig. 6): one thread spawns ready tasks with one access,
//! all to the same object. As in the figure, the cost has three parts:
//!
//! - the baseline: a task without accesses;
//! - the generic part: the additional cost of the cheapest annotation;
//! - the part of each annotation: its additional cost.
//!
//! Each run of an annotation is measured in turns with a run of its baseline, on the same runtime.
//! So what slows the processor for a while slows both.

use super::annotation::{ANNOTATIONS, Annotation, Object};
use super::point::{Cell, Measured, Point, Program, Ran};
use super::round::measure;
use super::setting::{Rule, Setting};
use super::{Request, names};
use crate::cycles::{self, Timed, Watch};
use clap::Arg;
use millpond::{Builder, Engine, Runtime};
use millpond_cli::suites::{Failure, Row, Suite, integer, median};
use serde_json::json;
use std::cell::Cell as StdCell;

/// The suite.
pub const SUITE: Suite = Suite::new(
    "spawn",
    "Every scheme: cycles to spawn and run a ready task, by annotation",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps)?.measure(suite),
);

/// A way to run a ready task: its name, its setting, and the spawns of a point over all
/// repetitions.
type Shape = (&'static str, Setting, u64);

static SHAPES: &[Shape] = &[
    // Issued, run at its spawn and released, as in the figure. The number is the paper's.
    ("at-once", Setting::new(1, Rule::Issued, Builder::DEFAULT_WINDOW), 10_000_000),
    // Run at its spawn, without the scheme where the runtime can do so.
    ("untracked", Setting::new(1, Rule::Always, Builder::DEFAULT_WINDOW), 2_000_000),
    // Issued, put into the pool, taken and released, one by one.
    ("queued", Setting::new(1, Rule::Never, 1), 2_000_000),
];

/// The maximum number of spawns in a run. A repetition has many runs.
const MAX_RUN: u64 = 20_000;

fn args() -> Vec<Arg> {
    let help = "Spawns of each point, in all its repetitions together [default: 10000000 at once, else 2000000]";
    vec![
        names("shape", SHAPES.iter().map(|shape| shape.0), "Measure this way only; may be repeated"),
        integer("spawns", "N", 1, 1_000_000_000, help),
    ]
}

struct Spawns {
    annotation: Annotation,
    tasks: u64,
    /// Whether the next run begins with its baseline.
    baseline_first: StdCell<bool>,
}

impl Spawns {
    /// The time of some tasks with this annotation, and whether they left the right value.
    fn time<E: Engine>(&self, runtime: &Runtime<E>, annotation: Annotation) -> Result<(Timed, bool), millpond::Error> {
        let (tasks, object) = (self.tasks, Object::new(false));
        let watch = Watch::start();
        runtime.scope(|s| object.spawn(s, annotation, tasks))?;
        Ok((watch.stop(), object.right(annotation, tasks)?))
    }
}

impl Program for Spawns {
    fn bodies(&self) -> u64 {
        if self.annotation == Annotation::None { self.tasks } else { 2 * self.tasks }
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        let begins = self.baseline_first.replace(!self.baseline_first.get());
        if self.annotation == Annotation::None {
            let (timed, right) = self.time(runtime, Annotation::None)?;
            return Ok(Ran { timed, baseline: Some(timed), right });
        }
        let before = if begins { Some(self.time(runtime, Annotation::None)?) } else { None };
        let (timed, right) = self.time(runtime, self.annotation)?;
        let (baseline, also) = before.map_or_else(|| self.time(runtime, Annotation::None), Ok)?;
        Ok(Ran { timed, baseline: Some(baseline), right: right && also })
    }
}

/// The shapes that the options choose.
fn shapes(request: &Request) -> Result<Vec<&'static Shape>, Failure> {
    // With one worker, `auto` is `always`.
    let rule = request.given.rule.map(|rule| if rule == Rule::Auto { Rule::Always } else { rule });
    let named = SHAPES.iter().filter(|shape| request.wants("shape", shape.0));
    let chosen: Vec<_> = named.filter(|shape| rule.is_none_or(|rule| rule == shape.1.rule)).collect();
    let Some(rule) = rule.filter(|_| chosen.is_empty()) else { return Ok(chosen) };
    let shape = SHAPES.iter().find(|shape| shape.1.rule == rule).map_or("", |shape| shape.0);
    Err(Failure::Usage(format!("--inline {}: only --shape {shape} runs tasks so", rule.name())))
}

fn suite(request: &Request) -> Result<Vec<Row>, Failure> {
    let mut series = Vec::new();
    for &&(shape, setting, spawns) in &shapes(request)? {
        let spawns = request.number("spawns", spawns).div_ceil(request.reps as u64);
        let tasks = spawns.min(MAX_RUN);
        let runs = spawns.div_ceil(tasks);
        series.extend(ANNOTATIONS.iter().map(|&(annotation, name, mode)| {
            vec![Point {
                shape,
                mode,
                setting: request.given.apply(setting),
                tasks,
                runs: runs as usize,
                weight: tasks as f64,
                asked: true,
                params: vec![("spawns", tasks * runs)],
                labels: vec![("mode", json!(name))],
                program: Spawns { annotation, tasks, baseline_first: StdCell::new(true) },
            }]
        }));
    }
    let all = measure(request, series)?;
    Ok(all.iter().flat_map(|measured| measured.cells.iter().map(|cell| row(request, &all, measured, cell))).collect())
}

/// The cycles of a task, and those of its baseline.
fn cycles_of(measured: &Measured<Spawns>, cell: &Cell) -> (f64, f64) {
    let tasks = measured.point.tasks as f64;
    (median(&cell.cycles) / tasks, median(&cell.baseline) / tasks)
}

/// The row of a cell: its cycles, and their three parts. The other annotations of the scheme and
/// shape determine the generic part.
fn row(request: &Request, all: &[Measured<Spawns>], measured: &Measured<Spawns>, cell: &Cell) -> Row {
    let annotated = |measured: &&Measured<Spawns>| measured.point.mode.is_some();
    let same = all.iter().filter(|other| other.point.shape == measured.point.shape).filter(annotated);
    let of_scheme = same.flat_map(|other| other.cells.iter().map(move |cell| (other, cell)));
    let added = of_scheme.filter(|(_, other)| other.scheme == cell.scheme).map(|(other, cell)| {
        let (cycles, baseline) = cycles_of(other, cell);
        cycles - baseline
    });
    let cheapest = added.fold(f64::INFINITY, f64::min);
    let (cycles, baseline) = cycles_of(measured, cell);
    let is_baseline = measured.point.mode.is_none();
    let (generic, specific) = if is_baseline { (0.0, 0.0) } else { (cheapest, cycles - baseline - cheapest) };
    let adds = vec![
        ("cycles", json!(cycles)),
        ("baseline_cycles", json!(baseline)),
        ("generic_cycles", json!(generic)),
        ("specific_cycles", json!(specific)),
        ("clock", json!(cycles::UNIT)),
    ];
    measured.row(cell, request.against, adds)
}
