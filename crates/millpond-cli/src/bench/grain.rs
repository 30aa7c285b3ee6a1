//! How long must a task be to be worthwhile? The suite measures efficiency against the length of
//! the body on four task graphs, and gives the length with an efficiency of one half.

use super::Request;
use super::graph::{Graph, SHAPES};
use super::metg::Metg;
use super::row::Row;
use super::shares::{ran, ran_since, shares};
use super::spin;
use crate::args::integer;
use crate::failure::Failure;
use crate::stats::median;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, on_runtime};
use serde_json::json;
use std::time::Instant;

/// The default lengths of the bodies, in nanoseconds.
const BODIES: [u64; 7] = [50, 100, 200, 500, 1000, 5000, 20_000];

/// The options of this suite.
pub fn args() -> Vec<Arg> {
    let shapes = PossibleValuesParser::new(SHAPES);
    let body = integer("body-ns", "NS", 1, 1_000_000, "Measure this length only; may be repeated [default: 50..20000]");
    let shape = Arg::new("shape").long("shape").value_name("NAME").value_parser(shapes);
    vec![
        body.action(ArgAction::Append),
        shape.action(ArgAction::Append).help("Measure this graph only; may be repeated"),
    ]
}

/// Measures every graph with every length.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let chosen = |name| request.matches.get_many::<String>(name).map(|all| all.cloned().collect::<Vec<_>>());
    let shapes = chosen("shape").unwrap_or_else(|| SHAPES.iter().map(|s| (*s).to_owned()).collect());
    let mut bodies = request.matches.get_many::<u64>("body-ns").map_or(BODIES.to_vec(), |all| all.copied().collect());
    bodies.sort_unstable();
    bodies.dedup();
    let steps = spin::steps_per_ns();
    let runtime = request.config.build()?;
    let mut rows = Vec::new();
    for shape in &shapes {
        let graph = Graph::new(shape);
        let points =
            bodies.iter().map(|&body_ns| point(request, &runtime, &graph, body_ns, spin::steps(body_ns, steps)));
        let points = points.collect::<Result<Vec<_>, _>>()?;
        let efficiencies: Vec<_> = points.iter().map(|point| (point.body_ns, point.efficiency)).collect();
        let metg = Metg::of(&efficiencies);
        rows.extend(points.into_iter().map(|point| point.row(metg)));
    }
    Ok(rows)
}

/// A graph with one body length.
struct Point {
    row: Row,
    body_ns: u64,
    serial_seconds: f64,
    efficiency: f64,
}

impl Point {
    /// The row of a graph with that METG.
    fn row(mut self, metg: Metg) -> Row {
        let (serial, efficiency) = (json!(self.serial_seconds), json!(self.efficiency));
        self.row.extra = vec![("body_ns", json!(self.body_ns)), ("serial_seconds", serial), ("efficiency", efficiency)];
        self.row.extra.extend(metg.fields());
        self.row
    }
}

/// Measures one graph with one length. Serial and parallel runs alternate, so that other load
/// affects both.
fn point(request: &Request, runtime: &AnyRuntime, graph: &Graph, body_ns: u64, spins: u64) -> Result<Point, Failure> {
    let workers = request.config.workers;
    let before = ran(runtime);
    let (mut serial, mut seconds, mut verified) = (Vec::new(), Vec::new(), true);
    for rep in 1..=request.reps {
        request.progress.say(|| format!("{} of {body_ns} ns: {rep} of {}", graph.shape, request.reps));
        let mut wanted = graph.start();
        let start = Instant::now();
        graph.serial(spins, &mut wanted);
        serial.push(start.elapsed().as_secs_f64());
        let (time, found) = parallel(runtime, graph, spins)?;
        seconds.push(time);
        verified &= found == wanted;
    }
    let serial_seconds = median(&serial);
    let efficiency = serial_seconds / (workers as f64 * median(&seconds));
    let row = Row {
        shape: graph.shape,
        runtime: "millpond",
        config: request.config.json(),
        params: graph.params.clone(),
        tasks: graph.tasks(),
        seconds,
        worker_shares: shares(&ran_since(&before, runtime)),
        verified,
        extra: Vec::new(),
    };
    Ok(Point { row, body_ns, serial_seconds, efficiency })
}

/// The time of a parallel run, and the data after it.
fn parallel(runtime: &AnyRuntime, graph: &Graph, spins: u64) -> Result<(f64, Vec<u64>), Failure> {
    let handles: Vec<Handle<u64>> = graph.start().into_iter().map(Handle::new).collect();
    let start = Instant::now();
    on_runtime!(runtime, rt => rt.scope(|s| graph.spawn(s, &handles, spins)))?;
    let time = start.elapsed().as_secs_f64();
    let values = handles.into_iter().map(Handle::into_inner).collect::<Result<_, _>>()?;
    Ok((time, values))
}
