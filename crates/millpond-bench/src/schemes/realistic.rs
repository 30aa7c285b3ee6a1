//! The task graphs of real programs without their kernels ([TG](crate#sources) §5.5), by the length
//! of the tasks.
//!
//! One graph is the product of two matrices of D × D tiles, in two loop orders (Figs. 12 and 13).
//! The other one is the Cholesky factorisation of a matrix of T × T tiles (Fig. 14). No task runs
//! at its spawn, so that the schemes get the whole graph.

use super::compare;
use super::point::{Point, Program, Ran};
use super::round::measure;
use super::setting::Rule;
use super::{Request, cores, names, workers};
use crate::cycles::{self, Watch};
use clap::{Arg, ArgAction};
use millpond::depend::Mode;
use millpond::{Engine, Handle, Runtime};
use millpond_cli::suites::{Failure, Row, Suite, graph::Graph, integer, spin};
use serde_json::json;
use std::cell::OnceCell;
use std::rc::Rc;

/// Figs. 12 and 13.
pub const MATMUL: Suite = Suite::new(
    "matmul-graph",
    "Every scheme: delay of tasks in the graph of a matrix product, in two orders",
    || {
        let shapes =
            names("shape", MATMUL_SHAPES.iter().map(|shape| shape.0), "Measure this order only; may be repeated");
        args(integer("d", "D", 1, 128, "Tiles along a side: D^3 tasks [default: 128]"), Some(shapes))
    },
    |matches, reps| Request::new(matches, reps)?.measure(|request| suite(request, MATMUL_SHAPES, ("d", 128))),
);

/// Fig. 14.
pub const CHOLESKY: Suite = Suite::new(
    "cholesky-graph",
    "Every scheme: delay of tasks in the graph of a Cholesky factorisation",
    || args(integer("t", "T", 1, 128, "Tiles along a side [default: 128]"), None),
    |matches, reps| Request::new(matches, reps)?.measure(|request| suite(request, CHOLESKY_SHAPES, ("t", 128))),
);

/// A name, and a function making the graph from the number of tiles along a side.
type Shape = (&'static str, fn(u32) -> Graph);

static MATMUL_SHAPES: &[Shape] = &[("ijk", Graph::matmul), ("kij", Graph::matmul_kij)];
static CHOLESKY_SHAPES: &[Shape] = &[("cholesky", Graph::cholesky)];

/// The default lengths of the tasks in cycles: the paper's range, and values between its first two.
/// With few cores the longer ones need fewer tiles, or more `--seconds`.
const SIZES: [u64; 9] = [0, 1000, 10_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000];

/// The maximum number of tasks in flight. It bounds the memory of the largest graphs; 32 tiles
/// along a side fit completely.
const WINDOW: usize = 1 << 16;

fn args(side: Arg, shapes: Option<Arg>) -> Vec<Arg> {
    let help = "Measure tasks of this number of cycles only; may be repeated [default: 0..500000]";
    let cycles = integer("cycles", "C", 0, 10_000_000, help).action(ArgAction::Append);
    super::args([workers("the cores allowed"), side, cycles].into_iter().chain(shapes).collect())
}

struct Run {
    graph: Rc<Graph>,
    spins: u64,
    /// The serial program's result.
    wanted: OnceCell<Vec<u64>>,
}

impl Run {
    fn serial_data(&self) -> Vec<u64> {
        let mut data = self.graph.start();
        self.graph.serial(self.spins, &mut data);
        data
    }
}

impl Program for Run {
    fn bodies(&self) -> u64 {
        self.graph.tasks()
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        let wanted = self.wanted.get_or_init(|| self.serial_data());
        let handles: Vec<_> = self.graph.start().into_iter().map(Handle::new).collect();
        let watch = Watch::start();
        // The closure captures only the graph, because the `OnceCell` is not `Sync`.
        let (graph, spins) = (&*self.graph, self.spins);
        runtime.scope(|s| graph.spawn(s, &handles, spins))?;
        let timed = watch.stop();
        let found = handles.into_iter().map(Handle::into_inner).collect::<Result<Vec<_>, _>>()?;
        Ok(Ran::new(timed, found == *wanted))
    }

    fn serial(&self) -> Option<f64> {
        let mut data = self.graph.start();
        let watch = Watch::start();
        self.graph.serial(self.spins, &mut data);
        Some(watch.stop().seconds)
    }
}

fn suite(request: &Request, shapes: &[Shape], (option, side): (&'static str, u64)) -> Result<Vec<Row>, Failure> {
    let (side, asked) = (request.number(option, side), request.numbers("cycles", &SIZES));
    // Empty tasks predict the time of the others.
    let empty = (!asked.contains(&0)).then_some((0, false));
    let sizes: Vec<_> = empty.into_iter().chain(asked.into_iter().map(|cycles| (cycles, true))).collect();
    let steps_per_cycle = spin::steps_per_ns() / cycles::per_ns();
    let mut series = Vec::new();
    for &(shape, graph) in shapes.iter().filter(|shape| shapes.len() == 1 || request.wants("shape", shape.0)) {
        let graph = Rc::new(graph(side as u32));
        series.extend(request.workers(&[cores()]).into_iter().map(|workers| {
            let point = |&(cycles, asked): &(u64, bool)| Point {
                shape,
                mode: Some(Mode::Inout),
                setting: request.setting(workers, Rule::Never, WINDOW),
                tasks: graph.tasks(),
                runs: 1,
                weight: graph.tasks() as f64 * (cycles as f64 + 1000.0),
                asked,
                params: vec![(option, side), ("cycles", cycles)],
                labels: vec![("cycles", json!(cycles))],
                program: Run {
                    graph: Rc::clone(&graph),
                    spins: (cycles as f64 * steps_per_cycle).round() as u64,
                    wanted: OnceCell::new(),
                },
            };
            sizes.iter().map(point).collect::<Vec<_>>()
        }));
    }
    Ok(compare::rows(request, &measure(request, series)?))
}
