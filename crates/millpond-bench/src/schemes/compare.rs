//! Statistics of a row, and its comparison with the reference scheme. Also the fields of a row
//! whose tasks do work: the time outside work.

use super::Request;
use super::point::{Cell, Measured};
use crate::cycles;
use millpond_cli::suites::{Row, deviation, distribution, greatest, mean, median, rank_sum};
use serde_json::{Value, json};

/// The statistics of the samples ([TG](crate#sources) Table 2 and Fig. 15; the minimum is in every
/// row). The test of TG §5.6.1 compares them with the samples of the reference scheme.
pub fn statistics(seconds: &[f64], with: Option<(&'static str, &[f64])>) -> Vec<(&'static str, Value)> {
    let test = with.and_then(|(_, with)| rank_sum::test(seconds, with));
    vec![
        ("mean_seconds", json!(mean(seconds))),
        ("deviation_seconds", json!(deviation(seconds))),
        ("max_seconds", json!(greatest(seconds))),
        ("cdf", json!(distribution(seconds))),
        ("against", json!(with.map(|(scheme, _)| scheme))),
        ("rank_sum_w", json!(test.map(|test| test.w))),
        ("rank_sum_p", json!(test.map(|test| test.p))),
    ]
}

/// The rows of points whose serial time was measured.
pub fn rows<P>(request: &Request, all: &[Measured<P>]) -> Vec<Row> {
    all.iter().flat_map(|measured| measured.cells.iter().map(|cell| row(request, measured, cell))).collect()
}

/// The delay is the time of all workers minus the work, per task ([TG](crate#sources) §5.3, Fig.
/// 13).
fn row<P>(request: &Request, measured: &Measured<P>, cell: &Cell) -> Row {
    let work = median(&measured.serial);
    let time = median(&cell.seconds) * measured.point.setting.workers as f64;
    let delay_ns = (time - work) * 1e9 / measured.point.tasks as f64;
    let adds = vec![
        ("serial_seconds", json!(work)),
        ("efficiency", json!(work / time)),
        ("delay_ns", json!(delay_ns)),
        ("delay_cycles", json!(delay_ns * cycles::per_ns())),
    ];
    measured.row(cell, request.against, adds)
}
