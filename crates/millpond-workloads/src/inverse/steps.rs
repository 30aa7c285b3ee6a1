//! The program as Concurrent Collections: one step per tile and iteration.
//!
//! The item `(i, j, k)` is tile `(i, j)` after `k` iterations. The step that makes the tile's next
//! item uses it once. In the last use, the step takes the tile and changes it in place. Steps of
//! other tiles also use the inverted diagonal tile, the rest of its new row and the rest of its
//! former column.

use crate::Error;
use crate::cholesky::Pivot;
use crate::matrix::{Tile, kernels};
use crate::workload::Probe;
use millpond_cnc::{CountedItems, Graph, Steps, Tags, Use};

type Key = (u32, u32, u32);
type Tiles<'x> = CountedItems<'x, Key, Tile>;

/// The number of uses of an item, for `nt` tiles in a row.
fn uses(nt: u32, (i, j, k): Key) -> u32 {
    let before = match (i + 1 == k, j + 1 == k) {
        // The inverted tile, used by its row and its column.
        (true, true) => 2 * (nt - 1),
        // Its new row.
        (true, false) => nt - 1,
        _ => 0,
    };
    // The column of the next iteration.
    let next = if j == k && i != k { nt - 1 } else { 0 };
    before + next + 1
}

/// Inverts the matrix of these tiles. The tiles are put before the timed part.
pub fn steps<'env>(
    g: &Graph<'_, '_, 'env>,
    tiles: Vec<Vec<Tile>>,
    pivot: &'env Pivot,
    probe: &mut dyn Probe,
) -> Result<Vec<Vec<Tile>>, Error> {
    let nt = tiles.len() as u32;
    let items = g.counted_items("tile", move |&key: &Key| uses(nt, key));
    let program =
        Program { nt, items, pivot, rows: g.tags("rows"), updates: g.tags("updates"), columns: g.tags("columns") };
    let diagonals = g.tags("diagonals");
    diagonals.prescribes(program.diagonal(g));
    program.rows.prescribes(program.row(g));
    program.updates.prescribes(program.update(g));
    program.columns.prescribes(program.column(g));
    for (i, row) in (0..).zip(tiles) {
        (0..).zip(row).for_each(|(j, tile)| items.put((i, j, 0), tile));
    }
    probe.start();
    diagonals.put_all(0..nt);
    g.wait()?;
    probe.stop();
    let last = |i, j| Ok(g.get(items, (i, j, nt))?.take().expect("its last use"));
    (0..nt).map(|i| (0..nt).map(|j| last(i, j)).collect()).collect()
}

/// The shared state of all steps. A step's tag is its tile and iteration.
#[derive(Clone, Copy)]
struct Program<'x, 'env> {
    nt: u32,
    items: Tiles<'x>,
    pivot: &'env Pivot,
    rows: Tags<'x, (u32, u32)>,
    updates: Tags<'x, Key>,
    columns: Tags<'x, (u32, u32)>,
}

impl<'x, 'env: 'x> Program<'x, 'env> {
    /// Prescribes all of iteration `k` except its diagonal, for which the steps would wait.
    ///
    /// A worker runs the newest step first. In this order, it updates the next iteration's column
    /// last, and in it the diagonal tile. Then few tiles of this iteration are left for the next
    /// one to copy. A thief takes the oldest step, and so begins with that column.
    fn prescribe(self, k: u32) {
        let others = || (1..self.nt).map(|after| (k + after) % self.nt);
        self.rows.put_all(others().map(|j| (k, j)));
        for j in others() {
            self.updates.put_all(others().skip(1).chain(others().take(1)).map(|i| (i, j, k)));
        }
        self.columns.put_all(others().map(|i| (i, k)));
    }

    fn diagonal(self, g: &Graph<'_, 'x, 'env>) -> Steps<'x, u32> {
        let Program { items, pivot, .. } = self;
        let step = g.steps::<u32>("diagonal").produces(items);
        let step = step.preconditions(move |&k, need| need.wait_on(items, (k, k, k)));
        step.execute(move |k| async move {
            let mut own = owned(items.get((k, k, k)).await);
            pivot.try_factor(k as usize, || kernels::invert(&mut own));
            items.put((k, k, k + 1), own);
            self.prescribe(k);
        })
    }

    fn row(self, g: &Graph<'_, 'x, 'env>) -> Steps<'x, (u32, u32)> {
        let Program { items, pivot, .. } = self;
        let step = g.steps::<(u32, u32)>("row").produces(items);
        let step = step.preconditions(move |&(k, j), need| {
            need.wait_on(items, (k, j, k));
            need.wait_on(items, (k, k, k + 1));
        });
        step.execute(move |(k, j)| async move {
            let own = items.get((k, j, k)).await;
            let inverse = items.get((k, k, k + 1)).await;
            let new = pivot.or_zeros(|| kernels::product(1.0, &inverse, &own));
            drop((own, inverse));
            items.put((k, j, k + 1), new);
        })
    }

    fn update(self, g: &Graph<'_, 'x, 'env>) -> Steps<'x, Key> {
        let Program { items, pivot, .. } = self;
        let step = g.steps::<Key>("update").produces(items);
        let step = step.preconditions(move |&(i, j, k), need| {
            need.wait_on(items, (k, j, k + 1));
            need.wait_on(items, (i, j, k));
            need.wait_on(items, (i, k, k));
        });
        step.execute(move |(i, j, k)| async move {
            let row = items.get((k, j, k + 1)).await;
            let column = items.get((i, k, k)).await;
            let mut own = owned(items.get((i, j, k)).await);
            pivot.unless_failed(|| kernels::gemm_less(&column, &row, &mut own));
            drop((row, column));
            items.put((i, j, k + 1), own);
        })
    }

    fn column(self, g: &Graph<'_, 'x, 'env>) -> Steps<'x, (u32, u32)> {
        let Program { items, pivot, .. } = self;
        let step = g.steps::<(u32, u32)>("column").produces(items);
        let step = step.preconditions(move |&(i, k), need| {
            need.wait_on(items, (i, k, k));
            need.wait_on(items, (k, k, k + 1));
        });
        step.execute(move |(i, k)| async move {
            let own = items.get((i, k, k)).await;
            let inverse = items.get((k, k, k + 1)).await;
            let new = pivot.or_zeros(|| kernels::product(-1.0, &own, &inverse));
            drop((own, inverse));
            items.put((i, k, k + 1), new);
        })
    }
}

/// A mutable tile: the item itself, or a copy while others use it.
fn owned(tile: Use<'_, Tile>) -> Tile {
    tile.take().unwrap_or_else(|used| used.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The declared uses equal the steps' uses.
    #[test]
    fn uses_are_exact() {
        for nt in 1..6_u32 {
            let mut counts = std::collections::BTreeMap::new();
            let mut get = |key| *counts.entry(key).or_insert(0_u32) += 1;
            for k in 0..nt {
                let others = || (0..nt).filter(move |&other| other != k);
                get((k, k, k));
                others().for_each(|j| [(k, j, k), (k, k, k + 1)].into_iter().for_each(&mut get));
                for i in others() {
                    others().for_each(|j| [(k, j, k + 1), (i, k, k), (i, j, k)].into_iter().for_each(&mut get));
                    [(i, k, k), (k, k, k + 1)].into_iter().for_each(&mut get);
                }
            }
            (0..nt).for_each(|i| (0..nt).for_each(|j| get((i, j, nt))));
            assert!(counts.iter().all(|(&key, &count)| uses(nt, key) == count), "{nt}: {counts:?}");
        }
    }
}
