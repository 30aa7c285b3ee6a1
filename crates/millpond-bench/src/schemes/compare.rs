//! Additional fields of a row whose tasks do work: the time outside work, and whether the scheme
//! differs from the reference scheme.

use super::round::{Cell, Measured};
use crate::cycles;
use millpond_cli::suites::{Row, median, rank_sum};
use serde_json::json;

/// The reference scheme.
const COMPARED_WITH: &str = "parked";

/// The rows of points whose serial time was measured.
pub fn rows<P>(all: &[Measured<P>]) -> Vec<Row> {
    all.iter().flat_map(|measured| measured.cells.iter().map(|cell| row(measured, cell))).collect()
}

/// The delay is the time of all workers minus the work, per task ([TG](crate#sources) §5.3, Fig.
/// 13). The test is from TG §5.6.1.
fn row<P>(measured: &Measured<P>, cell: &Cell) -> Row {
    let work = median(&measured.serial);
    let time = median(&cell.seconds) * measured.point.setting.workers as f64;
    let delay_ns = (time - work) * 1e9 / measured.point.tasks as f64;
    let with = measured.cells.iter().find(|other| other.scheme == COMPARED_WITH && other.scheme != cell.scheme);
    let test = with.and_then(|with| rank_sum::test(&cell.seconds, &with.seconds));
    let adds = vec![
        ("serial_seconds", json!(work)),
        ("efficiency", json!(work / time)),
        ("delay_ns", json!(delay_ns)),
        ("delay_cycles", json!(delay_ns * cycles::per_ns())),
        ("rank_sum_w", json!(test.map(|test| test.w))),
        ("rank_sum_p", json!(test.map(|test| test.p))),
    ];
    measured.row(cell, adds)
}
