//! The program as Concurrent Collections: a step per kernel call.
//!
//! The item `(i, j, k)` is tile `(i, j)` after `k` updates. Before the tile is factored, its item
//! has one use: the next step takes the tile and changes it in place. So there are never more tiles
//! than in the half matrix. A factored tile `(i, j, j + 1)` has one use for each step that reads
//! it, and one for the environment.

use crate::Error;
use crate::cholesky::Pivot;
use crate::matrix::{Tile, kernels};
use crate::workload::Probe;
use millpond_cnc::{CountedItems, Graph, Steps};

type Key = (u32, u32, u32);
type Tiles<'x> = CountedItems<'x, Key, Tile>;

/// Factors the tiles of a lower half. The tiles are put before the timed part.
pub fn steps<'env>(
    g: &Graph<'_, '_, 'env>,
    tiles: Vec<Vec<Tile>>,
    pivot: &'env Pivot,
    probe: &mut dyn Probe,
) -> Result<Vec<Vec<Tile>>, Error> {
    let nt = tiles.len() as u32;
    let items = g.counted_items("tile", move |&(_, j, k): &Key| if k == j + 1 { nt - j } else { 1 });
    let (columns, panels, updates) = (g.tags("columns"), g.tags("panels"), g.tags("updates"));
    columns.prescribes(potrf(g, items, pivot));
    panels.prescribes(trsm(g, items, pivot));
    updates.prescribes(update(g, items, pivot));
    for (i, row) in (0..).zip(tiles) {
        (0..).zip(row).for_each(|(j, tile)| items.put((i, j, 0), tile));
    }
    probe.start();
    // Columns from left to right, each with all its updates, like the task program.
    for j in 0..nt {
        (0..j).for_each(|k| updates.put_all((j..nt).map(|i| (i, j, k))));
        columns.put(j);
        panels.put_all((j + 1..nt).map(|i| (i, j)));
    }
    g.wait()?;
    probe.stop();
    let row = |i| (0..=i).map(|j| Ok(own(g.get(items, (i, j, j + 1))?))).collect();
    (0..nt).map(row).collect()
}

/// A tile without further uses by other steps.
fn own(tile: millpond_cnc::Use<'_, Tile>) -> Tile {
    tile.take().expect("its last use")
}

fn potrf<'x, 'env: 'x>(g: &Graph<'_, 'x, 'env>, items: Tiles<'x>, pivot: &'env Pivot) -> Steps<'x, u32> {
    let step = g.steps::<u32>("potrf").produces(items);
    let step = step.preconditions(move |&j, need| need.wait_on(items, (j, j, j)));
    step.execute(move |j| async move {
        let mut a = own(items.get((j, j, j)).await);
        pivot.try_factor(j as usize, || kernels::potrf(&mut a));
        items.put((j, j, j + 1), a);
    })
}

fn trsm<'x, 'env: 'x>(g: &Graph<'_, 'x, 'env>, items: Tiles<'x>, pivot: &'env Pivot) -> Steps<'x, (u32, u32)> {
    let step = g.steps::<(u32, u32)>("trsm").produces(items);
    let step = step.preconditions(move |&(i, j), need| {
        need.wait_on(items, (j, j, j + 1));
        need.wait_on(items, (i, j, j));
    });
    step.execute(move |(i, j)| async move {
        let l = items.get((j, j, j + 1)).await;
        let mut b = own(items.get((i, j, j)).await);
        pivot.unless_failed(|| kernels::trsm(&l, &mut b));
        drop(l);
        items.put((i, j, j + 1), b);
    })
}

/// Tile `(i, j)` minus the product of the tiles `(i, k)` and `(j, k)`, which are the same on the
/// diagonal.
fn update<'x, 'env: 'x>(g: &Graph<'_, 'x, 'env>, items: Tiles<'x>, pivot: &'env Pivot) -> Steps<'x, Key> {
    let step = g.steps::<Key>("update").produces(items);
    let step = step.preconditions(move |&(i, j, k), need| {
        need.wait_on(items, (i, k, k + 1));
        if i != j {
            need.wait_on(items, (j, k, k + 1));
        }
        need.wait_on(items, (i, j, k));
    });
    step.execute(move |(i, j, k)| async move {
        let a = items.get((i, k, k + 1)).await;
        let b = if i == j { None } else { Some(items.get((j, k, k + 1)).await) };
        let mut c = own(items.get((i, j, k)).await);
        pivot.unless_failed(|| match &b {
            Some(b) => kernels::gemm_nt(&a, b, &mut c),
            None => kernels::syrk(&a, &mut c),
        });
        drop((a, b));
        items.put((i, j, k + 1), c);
    })
}
