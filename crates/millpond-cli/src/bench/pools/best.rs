//! `bench pools`: each pool with its best manager ([TP](crate#sources) Tables 5 and 7, with
//! `--counters` 6 and 9), and the effect of its parameters.

use super::cell::Cell;
use super::compare::{fields, sorted};
use super::sweep::{self, Swept};
use super::{Request, Row};
use crate::bench::options::names;
use crate::bench::{Measure, Suite};
use crate::failure::Failure;
use crate::stats::least;
use serde_json::{Value, json};

/// Tables 5 and 7.
pub const SUITE: Suite = Suite {
    name: "pools",
    summary: "Every pool with its best memory manager, and the effect of its parameters",
    args: || {
        vec![names("shape", [BEST, SWEEP], "Measure the best of all managers, or the parameters; may be repeated")]
    },
    measure: Measure::Pools(measure),
};

const BEST: &str = "best";
const SWEEP: &str = "sweep";

fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let mut cells = if request.wants("shape", BEST) { request.product() } else { Vec::new() };
    let swept = if request.wants("shape", SWEEP) { sweep::points(request) } else { Vec::new() };
    let products = cells.len();
    cells.extend(swept.iter().map(|swept| swept.cell.clone()));
    request.measure(&mut cells)?;
    let fastest = fastest(request, &cells[..products]);
    let shown = fastest.iter().copied().chain(products..cells.len());
    request.count(&mut cells, shown.map(|cell| vec![cell]))?;
    let measured = &cells[products..];
    let mut rows = best(request, &cells[..products], &fastest);
    rows.extend(swept.iter().zip(measured).map(|(swept, cell)| swept_row(request, swept, cell, measured)));
    Ok(rows)
}

/// The index of each pool's fastest cell, for each number of workers.
fn fastest(request: &Request, cells: &[Cell]) -> Vec<usize> {
    let mut fastest = Vec::new();
    for &workers in &request.workers {
        for &pool in &request.pools {
            let of_pool = (0..cells.len()).filter(|&cell| cells[cell].workers == workers && cells[cell].pool == pool);
            fastest.extend(of_pool.min_by(|&a, &b| cells[a].median().total_cmp(&cells[b].median())));
        }
    }
    fastest
}

/// The sorted pools for each number of workers, as in Table 5. The speed-up is relative to the best
/// with one worker, as in Table 7.
fn best(request: &Request, cells: &[Cell], fastest: &[usize]) -> Vec<Row> {
    let alone: Vec<_> = cells.iter().filter(|cell| cell.workers == 1).map(Cell::median).collect();
    let mut rows = Vec::new();
    for &workers in &request.workers {
        let order = sorted(fastest.iter().map(|&cell| &cells[cell]).filter(|cell| cell.workers == workers));
        for cell in &order {
            let speed_up = (!alone.is_empty()).then(|| least(&alone) / cell.median());
            rows.push(row(request, BEST, cell, order[0], [Value::Null, Value::Null], json!(speed_up)));
        }
    }
    rows
}

/// The row of a parameter's value, compared with the default value.
fn swept_row(request: &Request, swept: &Swept, cell: &Cell, all: &[Cell]) -> Row {
    let what = [json!(swept.parameter), json!(swept.value)];
    row(request, SWEEP, cell, &all[swept.default], what, Value::Null)
}

fn row(
    request: &Request,
    shape: &'static str,
    cell: &Cell,
    with: &Cell,
    [parameter, value]: [Value; 2],
    speed_up: Value,
) -> Row {
    let [relative, p] = fields(cell, with);
    let mut extra = vec![
        ("pool", json!(cell.pool)),
        ("workers", json!(cell.workers)),
        ("memory", json!(cell.memory)),
        ("parameter", parameter),
        ("value", value),
        relative,
        p,
        ("speed_up", speed_up),
    ];
    extra.extend(cell.counts());
    extra.extend(request.fields(cell));
    cell.row(shape, request.load, extra)
}
