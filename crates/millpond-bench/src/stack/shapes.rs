//! Tasks on the dataflow stack and on the default scheme, alternating. If tasks create tasks, also
//! on the default scheme with no task run at its spawn.

use super::point::Point;
use super::tasks::{self, Size, TimedRun};
use super::{Request, halved};
use millpond::depend::Parked;
use millpond::depend::Scheme;
use millpond::{DefaultEngine, Engine, Inline, Runtime, StackEngine};
use millpond_cli::suites::{Failure, Row, of_scheme};
use serde_json::json;

/// A shape of tasks, in several sizes.
pub struct Shape {
    pub name: &'static str,
    /// The varied parameter, and its values.
    varied: &'static str,
    sizes: &'static [u64],
    workers: usize,
    /// Tasks per run; 0 if the measured time is not the tasks' own.
    tasks: fn(Size) -> u64,
    on_stack: fn(&Runtime<StackEngine>, Size) -> TimedRun,
    on_parked: fn(&Runtime, Size) -> TimedRun,
}

macro_rules! shape {
    ($name:literal, $varied:literal, $sizes:expr, $workers:literal, $tasks:expr, $run:ident) => {
        Shape {
            name: $name,
            varied: $varied,
            sizes: $sizes,
            workers: $workers,
            tasks: $tasks,
            on_stack: tasks::$run::<StackEngine>,
            on_parked: tasks::$run::<DefaultEngine>,
        }
    };
}

pub static SHAPES: &[Shape] = &[
    shape!("accesses", "accesses", &[1, 2, 3, 4, 6, 8], 1, tasks::of_accesses, accesses),
    shape!(
        "number",
        "number",
        &[1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
        1,
        |size| size.varied,
        number
    ),
    shape!("depth", "depth", &[10, 100, 1_000, 10_000, 100_000], 1, tasks::of_depth, depth),
    shape!("give", "ready", &[1, 100, 10_000], 2, |_| 0, give),
    // Fewer than the window, so that all wait in one frame.
    shape!("behind", "ready", &[100, 1_000, 4_000], 2, |size| size.varied, behind),
    shape!("fib", "n", &[27], 1, tasks::of_fib, fib),
    shape!("fib-2", "n", &[27], 2, tasks::of_fib, fib),
];

/// The default scheme with all its tasks in the pool, for some shapes.
const QUEUED: &str = "parked-queued";

/// The runtimes of the tasks.
pub const SCHEMES: [&str; 3] = [StackEngine::NAME, Parked::NAME, QUEUED];

impl Shape {
    pub fn schemes(&self) -> &'static [&'static str] {
        if self.varied == "n" { &SCHEMES } else { &SCHEMES[..2] }
    }

    /// The sizes with at most this number of tasks. If there are none, the smallest one, cut down.
    fn sizes(&self, most: u64) -> Vec<Size> {
        let size = |varied| Size { varied, most };
        let fits = |&varied: &u64| varied <= most && (self.tasks)(size(varied)) <= most;
        let fitting: Vec<_> = self.sizes.iter().copied().filter(fits).map(size).collect();
        if fitting.is_empty() {
            halved(self.sizes[0], |varied| fits(&varied)).map(size).into_iter().collect()
        } else {
            fitting
        }
    }
}

/// The runtimes, each with one worker and with two.
struct Runtimes {
    stack: [Runtime<StackEngine>; 2],
    parked: [Runtime; 2],
    queued: [Runtime; 2],
}

impl Runtimes {
    fn new() -> Result<Self, Failure> {
        Ok(Self { stack: on(Inline::Auto)?, parked: on(Inline::Auto)?, queued: on(Inline::Never)? })
    }

    fn measure(&self, shape: &Shape, size: Size, point: &mut Point) -> Result<(), Failure> {
        let workers = shape.workers - 1;
        match point.row.runtime {
            StackEngine::NAME => once(&self.stack[workers], shape.on_stack, size, point),
            QUEUED => once(&self.queued[workers], shape.on_parked, size, point),
            _ => once(&self.parked[workers], shape.on_parked, size, point),
        }
    }
}

fn on<E: Engine>(inline: Inline) -> Result<[Runtime<E>; 2], Failure> {
    let build = |workers| Runtime::builder().workers(workers).inline(inline).build_with();
    let both = build(1).and_then(|one| Ok([one, build(2)?]));
    both.map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))
}

fn once<E: Engine>(
    rt: &Runtime<E>,
    run: fn(&Runtime<E>, Size) -> TimedRun,
    size: Size,
    point: &mut Point,
) -> Result<(), Failure> {
    point.measure(|| rt.counts(), || Ok(run(rt, size)?))
}

/// Measures the chosen shapes. The points of each alternate.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let chosen: Vec<_> = SHAPES.iter().filter(|shape| request.wants("shape", shape.name)).collect();
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let (runtimes, mut rows) = (Runtimes::new()?, Vec::new());
    for shape in chosen {
        let schemes = shape.schemes().iter().copied().filter(|name| request.wants("scheme", name));
        let sizes = shape.sizes(request.most).into_iter();
        let point = |size: Size, on| (size, Point::new(row(shape, on, size)));
        let mut points: Vec<_> = sizes.flat_map(|size| schemes.clone().map(move |on| point(size, on))).collect();
        for rep in 1..=request.reps {
            for (size, point) in &mut points {
                request.progress.say(|| format!("{} {}: {rep} of {}", shape.name, size.varied, request.reps));
                runtimes.measure(shape, *size, point)?;
            }
        }
        rows.extend(points.into_iter().map(|(_, point)| point.done()));
    }
    Ok(rows)
}

fn row(shape: &Shape, runtime: &'static str, size: Size) -> Row {
    let scheme = if runtime == QUEUED { Parked::NAME } else { runtime };
    Row {
        shape: shape.name,
        runtime,
        config: of_scheme(scheme, shape.workers),
        params: vec![(shape.varied, size.varied)],
        tasks: (shape.tasks)(size),
        seconds: Vec::new(),
        worker_shares: Vec::new(),
        verified: true,
        extra: vec![(shape.varied, json!(size.varied)), ("scheme", json!(runtime))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_run_has_more_tasks_than_it_may() {
        for (shape, most) in SHAPES.iter().flat_map(|shape| [100, 101, 999, 2500, 1_000_000].map(|most| (shape, most)))
        {
            let sizes = shape.sizes(most);
            assert!(
                !sizes.is_empty() && sizes.iter().all(|size| (shape.tasks)(*size) <= most),
                "{}, {most}",
                shape.name
            );
        }
    }

    #[test]
    fn all_sizes_unless_fewer_tasks_are_asked_for() {
        for shape in SHAPES {
            assert!(
                shape.sizes(super::super::MAX_TASKS).iter().map(|size| size.varied).eq(shape.sizes.iter().copied())
            );
        }
        let depths =
            SHAPES.iter().filter(|shape| shape.name == "depth").flat_map(|shape| shape.sizes(super::super::MAX_TASKS));
        assert!(depths.map(tasks::of_depth).all(|tasks| tasks == 2_000_000));
    }
}
