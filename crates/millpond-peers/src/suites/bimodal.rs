//! One task in a thousand takes 1 ms, the others 0.2 µs, and all are spawned at one place. If a
//! runtime saves time on the short ones, do the long ones still run on both workers?

use super::{Request, Suite};
use crate::graph::Case;
use crate::row::Row;
use crate::turns::Started;
use serde_json::json;

const SHORT_NS: u64 = 200;
const LONG_NS: u64 = 1_000_000;

pub fn measure(suite: &Suite, request: &Request, started: &mut Started) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (shape, graph) in request.shapes(suite) {
        let case = Case { graph, steps: request.steps(SHORT_NS), long_steps: request.steps(LONG_NS) };
        for &workers in request.workers(suite) {
            let (mut some, serial) = request.measure_beside_serial(suite, started, shape, workers, case)?;
            for row in &mut some {
                row.extra.push(("serial_seconds", json!(serial)));
                if let Some(seconds) = row.median_seconds() {
                    row.extra.push(("speed_up", json!(serial / seconds)));
                }
            }
            rows.extend(some);
        }
    }
    Ok(rows)
}
