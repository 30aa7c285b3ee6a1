//! The fast path ([TG](crate#sources) §5.1, Fig. 6): one thread spawns ready tasks with one access,
//! all to the same object. As in the figure, the cost has three parts:
//!
//! - the baseline: a task without accesses;
//! - the generic part: the additional cost of the cheapest annotation;
//! - the part of each annotation: its additional cost.

use super::annotation::{ANNOTATIONS, Annotation, Object};
use super::round::{Cell, Measured, Point, Program, Setting, measure};
use super::{Request, names};
use crate::cycles::{self, Timed, Watch};
use clap::Arg;
use millpond::{Builder, Engine, Inline, Runtime};
use millpond_cli::suites::{Failure, Row, Suite, integer, least, median};
use serde_json::json;

/// The suite.
pub const SUITE: Suite = Suite::new(
    "spawn",
    "Every scheme: cycles to spawn and run a ready task, by annotation",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps).measure(suite),
);

/// How a ready task is run.
static SHAPES: &[(&str, Setting)] = &[
    // At its spawn, as in the paper.
    ("at-once", Setting { workers: 1, inline: Inline::Always, window: Builder::DEFAULT_WINDOW }),
    // Issued, put into the pool, taken and released, one by one.
    ("queued", Setting { workers: 1, inline: Inline::Never, window: 1 }),
];

/// The number of spawns of a point over all repetitions, as in the paper.
const SPAWNS: u64 = 10_000_000;

fn args() -> Vec<Arg> {
    let help = format!("Spawns of each point, in all its repetitions together [default: {SPAWNS}]");
    vec![
        names("shape", SHAPES.iter().map(|shape| shape.0), "Measure this way only; may be repeated"),
        integer("spawns", "N", 1, 1_000_000_000, help),
    ]
}

struct Spawns(Annotation, u64);

impl Program for Spawns {
    fn bodies(&self) -> u64 {
        self.1
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<(Timed, bool), millpond::Error> {
        let (&Self(annotation, tasks), object) = (self, Object::new(false));
        let watch = Watch::start();
        runtime.scope(|s| object.spawn(s, annotation, tasks))?;
        Ok((watch.stop(), object.right(annotation, tasks)?))
    }
}

fn suite(request: &Request) -> Result<Vec<Row>, Failure> {
    let tasks = request.number("spawns", SPAWNS).div_ceil(request.reps as u64);
    let shapes = SHAPES.iter().filter(|shape| request.wants("shape", shape.0));
    let points = shapes.flat_map(|&(shape, setting)| {
        ANNOTATIONS.iter().map(move |&(annotation, name, mode)| Point {
            shape,
            mode,
            setting,
            tasks,
            weight: tasks as f64,
            asked: true,
            params: vec![("spawns", tasks)],
            labels: vec![("mode", json!(name))],
            program: Spawns(annotation, tasks),
        })
    });
    let all = measure(request, points.map(|point| vec![point]).collect())?;
    Ok(all.iter().flat_map(|measured| measured.cells.iter().map(|cell| row(&all, measured, cell))).collect())
}

/// The row of a cell: its cycles, and their three parts. The other points of the scheme and shape
/// determine the parts.
fn row(all: &[Measured<Spawns>], measured: &Measured<Spawns>, cell: &Cell) -> Row {
    let of = |cell: &Cell| median(&cell.cycles) / measured.point.tasks as f64;
    let others = all.iter().filter(|other| other.point.shape == measured.point.shape);
    let others: Vec<_> = others
        .flat_map(|other| other.cells.iter().map(|cell| (other.point.mode, cell)))
        .filter(|(_, other)| other.scheme == cell.scheme)
        .map(|(mode, other)| (mode.is_some(), of(other)))
        .collect();
    let of_all = |annotated| {
        least(&others.iter().filter(|(is, _)| *is == annotated).map(|(_, cycles)| *cycles).collect::<Vec<_>>())
    };
    let (baseline, cheapest) = (of_all(false), of_all(true));
    let annotated = measured.point.mode.is_some();
    let (generic, specific) = if annotated { (cheapest - baseline, of(cell) - cheapest) } else { (0.0, 0.0) };
    let adds = vec![
        ("cycles", json!(of(cell))),
        ("baseline_cycles", json!(baseline)),
        ("generic_cycles", json!(generic)),
        ("specific_cycles", json!(specific)),
        ("clock", json!(cycles::UNIT)),
    ];
    measured.row(cell, adds)
}
