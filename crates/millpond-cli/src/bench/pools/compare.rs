//! How much slower a cell is than the best, and whether the difference is noise.

use super::cell::Cell;
use crate::bench::rank_sum;
use crate::stats::median;
use serde_json::{Value, json};

/// The fields comparing a cell with another. They are the additional time, relative to the other's
/// median, and the probability of such a difference if both took equally long ([TG](crate#sources)
/// §5.6.1). A cell is not compared with itself.
pub fn fields(cell: &Cell, with: &Cell) -> [(&'static str, Value); 2] {
    let relative = cell.median() / with.median() - 1.0;
    let test = if std::ptr::eq(cell, with) { None } else { rank_sum::test(&cell.seconds, &with.seconds) };
    [("relative", json!(relative)), ("rank_sum_p", json!(test.map(|test| test.p)))]
}

/// The cells, from the fastest to the slowest.
pub fn sorted<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<&'a Cell> {
    let mut sorted: Vec<_> = cells.into_iter().collect();
    sorted.sort_by(|a, b| a.median().total_cmp(&b.median()));
    sorted
}

impl Cell {
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }
}
