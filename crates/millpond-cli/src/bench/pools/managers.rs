//! `bench memory`: each memory manager, over all of the paper's pools ([TP](crate#sources) Tables 8
//! and 10) and under single ones (Fig. 8).

use super::cell::Cell;
use super::compare::{fields, sorted};
use super::{Request, Row};
use crate::bench::options::names;
use crate::bench::{Measure, Suite};
use crate::failure::Failure;
use millpond::catalogue::POOLS;
use serde_json::json;

/// Tables 8 and 10, Fig. 8.
pub const SUITE: Suite = Suite {
    name: "memory",
    summary: "Every memory manager: the average over the paper's pools, and under dq8 and the default pool",
    args: || vec![names("shape", SHAPES, "Show the average over the paper's pools, or one pool; may be repeated")],
    measure: Measure::Pools(measure),
};

const AVERAGE: &str = "average";
const SHAPES: [&str; 3] = [AVERAGE, "dq8", POOLS[0].name];

fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let shapes: Vec<_> = SHAPES.into_iter().filter(|shape| request.wants("shape", shape)).collect();
    let mut cells = request.product();
    cells.retain(|cell| shapes.iter().any(|shape| is_of(shape, cell.pool)));
    request.measure(&mut cells)?;
    let counted = cells_of_rows(request, &shapes, &cells);
    request.count(&mut cells, counted)?;
    let mut rows = Vec::new();
    for shape in shapes {
        rows.extend(request.workers.iter().flat_map(|&workers| of_shape(request, shape, workers, &cells)));
    }
    Ok(rows)
}

/// Whether a pool's figures belong to a shape. The average is over the paper's pools.
fn is_of(shape: &str, pool: &str) -> bool {
    if shape == AVERAGE { POOLS[1..].iter().any(|row| row.name == pool) } else { pool == shape }
}

/// The indices of the cells of each row. Rows of few cells come first, so that the time suffices
/// for as many rows as possible.
fn cells_of_rows(request: &Request, shapes: &[&str], cells: &[Cell]) -> Vec<Vec<usize>> {
    let mut rows = Vec::new();
    for shape in shapes {
        for &workers in &request.workers {
            for &memory in &request.managers {
                let is_one = |cell: &Cell| cell.workers == workers && cell.memory == memory && is_of(shape, cell.pool);
                rows.push((0..cells.len()).filter(|&cell| is_one(&cells[cell])).collect::<Vec<_>>());
            }
        }
    }
    rows.retain(|cells| !cells.is_empty());
    rows.sort_by_key(Vec::len);
    rows
}

/// The sorted managers.
fn of_shape(request: &Request, shape: &'static str, workers: usize, cells: &[Cell]) -> Vec<Row> {
    let of = |memory: &str| {
        let is_one = |cell: &&Cell| cell.workers == workers && cell.memory == memory && is_of(shape, cell.pool);
        Cell::average(shape, &cells.iter().filter(is_one).collect::<Vec<_>>())
    };
    let averages: Vec<_> = request.managers.iter().filter_map(|memory| of(memory)).collect();
    let order = sorted(&averages);
    let row = |cell: &&Cell| {
        let extra = vec![("memory", json!(cell.memory)), ("workers", json!(workers))];
        let extra = extra.into_iter().chain(fields(cell, order[0])).chain(request.fields(cell));
        cell.row(shape, request.load, extra.collect())
    };
    order.iter().map(row).collect()
}
