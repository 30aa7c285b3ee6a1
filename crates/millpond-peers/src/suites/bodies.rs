//! How long must a task be to be worthwhile? The suite measures efficiency against the length of
//! the body, including the time of building the graph. It gives the length that reaches half the
//! speed-up. On a shared machine, the ceiling says what efficiency can be reached.

use super::{Named, Request, Suite};
use crate::graph::{Case, Graph};
use crate::row::{Row, by_turn};
use crate::runtimes::CEILING;
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
    add_of_ceiling(&mut rows);
    Ok(rows)
}

/// Adds to each row of a point its fraction of the ceiling's efficiency, if the ceiling was
/// measured. Both have the same serial loop and workers, so it is the inverse ratio of their times.
fn add_of_ceiling(rows: &mut [Row]) {
    let Some(ceiling) = rows.iter().find(|row| row.runtime == CEILING).cloned() else { return };
    for row in rows.iter_mut().filter(|row| row.runtime != CEILING) {
        if let Some(part) = by_turn(row, &ceiling, |row, ceiling| ceiling / row) {
            row.extra.push(("of_ceiling", json!(part)));
        }
    }
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
    use super::*;
    use crate::work::Outcome;
    use std::time::Duration;

    /// A row whose turns took these times.
    fn row(runtime: &'static str, turns: &[u64]) -> Row {
        let mut row = Row::new("bodies", "chains", runtime, 2, Case::empty(Graph::Flat { tasks: 100 }));
        for ns in turns {
            row.take(Outcome { time: Duration::from_nanos(*ns), sum: 0, ran: Vec::new() }, 0);
        }
        row
    }

    #[test]
    fn rows_are_compared_with_the_ceiling_turn_by_turn() {
        // The ratio of the medians is 0.5, because load slowed the second turn.
        let mut rows = [row("rayon", &[1250, 2500, 2000]), row(CEILING, &[1000, 2000, 1000]), row("starpu", &[])];
        add_of_ceiling(&mut rows);
        let part = rows[0].extra("of_ceiling").expect("measured");
        assert!((part - 0.8).abs() < 1e-9, "{part}");
        assert_eq!([&rows[1], &rows[2]].map(|row| row.extra("of_ceiling")), [None, None]);
    }

    #[test]
    fn without_a_ceiling_nothing_is_compared_with_it() {
        let mut rows = [row("rayon", &[1250])];
        add_of_ceiling(&mut rows);
        assert_eq!(rows[0].extra("of_ceiling"), None);
    }

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
