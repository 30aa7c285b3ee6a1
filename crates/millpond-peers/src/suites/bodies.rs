//! How long must a task be to be worthwhile? The suite measures efficiency against the length of
//! the body, including the time of building the graph. It gives the length that reaches half the
//! speed-up.

use super::{Named, Request, Suite};
use crate::graph::{Case, Graph};
use crate::row::Row;
use crate::turns::Started;
use serde_json::json;

/// The graphs, of about 50 000 tasks.
pub const SHAPES: &[Named] = &[
    ("independent", Graph::Flat { tasks: 50_000 }),
    ("chains", Graph::Chains { chains: 64, length: 1000 }),
    ("cholesky", Graph::Cholesky { tiles: 64 }),
    ("matmul", Graph::MatmulIjk { tiles: 37 }),
];

/// The lengths of the bodies in nanoseconds.
const BODIES: [u64; 5] = [200, 500, 1000, 5000, 20_000];
/// The maximum time of the serial loop, in nanoseconds. Graphs of long tasks have fewer tasks.
const MAX_LOOP_NS: f64 = 0.26e9;

pub fn measure(suite: &Suite, request: &Request, started: &mut Started) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (shape, graph) in request.shapes(suite) {
        for &workers in request.workers(suite) {
            let mut some = Vec::new();
            for body_ns in BODIES {
                some.extend(point(suite, request, started, (shape, graph), workers, body_ns)?);
            }
            add_metg(&mut some);
            rows.extend(some);
        }
    }
    Ok(rows)
}

/// Measures all runtimes with one length.
fn point(
    suite: &Suite,
    request: &Request,
    started: &mut Started,
    (shape, graph): Named,
    workers: usize,
    body_ns: u64,
) -> Result<Vec<Row>, String> {
    let part = MAX_LOOP_NS / (graph.tasks() * body_ns) as f64;
    let graph = if part < 1.0 { graph.scaled(part) } else { graph };
    let case = Case { steps: request.steps(body_ns), ..Case::empty(graph) };
    let (mut rows, serial) = request.measure_beside_serial(suite, started, shape, workers, case)?;
    for row in &mut rows {
        row.extra.push(("body_ns", json!(body_ns)));
        row.extra.push(("serial_seconds", json!(serial)));
        if let Some(seconds) = row.median_seconds() {
            row.extra.push(("efficiency", json!(serial / (workers as f64 * seconds))));
        }
    }
    Ok(rows)
}

/// Adds to each row the METG(50 %) of its runtime.
fn add_metg(rows: &mut [Row]) {
    let all = rows.to_vec();
    for row in rows {
        let curve = curve(&all, row.runtime);
        row.extra.push(("metg_ns", json!(half_efficient(&curve))));
    }
}

/// The efficiency of one runtime by the length of the body, the shortest first.
fn curve(rows: &[Row], runtime: &str) -> Vec<(f64, f64)> {
    let point = |row: &Row| Some((row.extra("body_ns")?, row.extra("efficiency")?));
    rows.iter().filter(|row| row.runtime == runtime).filter_map(point).collect()
}

/// The length at which the efficiency is one half. It is interpolated between the last point below
/// and the next one, linearly on a logarithmic scale. If no point is below, it is the shortest
/// length; if none is above, `None`.
fn half_efficient(curve: &[(f64, f64)]) -> Option<f64> {
    let Some(below) = curve.iter().rposition(|(_, efficiency)| *efficiency < 0.5) else {
        return curve.first().map(|(body, _)| *body);
    };
    let (&(x0, y0), &(x1, y1)) = (curve.get(below)?, curve.get(below + 1)?);
    Some((x0.ln() + (x1.ln() - x0.ln()) * (0.5 - y0) / (y1 - y0)).exp())
}

#[cfg(test)]
mod tests {
    use super::half_efficient;

    #[test]
    fn the_half_is_found_between_two_points() {
        assert_eq!(half_efficient(&[]), None);
        assert_eq!(half_efficient(&[(200.0, 0.6), (500.0, 0.8)]), Some(200.0));
        assert_eq!(half_efficient(&[(200.0, 0.1), (500.0, 0.3)]), None);
        let between = half_efficient(&[(100.0, 0.1), (200.0, 0.4), (800.0, 0.6), (1000.0, 0.9)]).expect("between");
        assert!((between - 400.0).abs() < 1e-6, "{between}");
        // A single point above by chance does not count.
        assert!(half_efficient(&[(100.0, 0.6), (200.0, 0.4), (800.0, 0.6)]).expect("between") > 200.0);
    }
}
