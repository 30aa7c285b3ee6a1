//! The task program: one task per kernel call. Each declares the tiles that it reads, and the tile
//! that it changes.

use super::Pivot;
use crate::matrix::{Tile, kernels};
use millpond::{Handle, Spawn};

/// Factors the tiles of a lower half.
///
/// Columns are spawned from left to right, each with all its updates (left-looking). If they run in
/// that order, a column's tiles stay in the cache. After a failed pivot, the remaining tasks do
/// nothing.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, tiles: &[Vec<Handle<Tile, S::Brand>>], pivot: &'s Pivot) {
    let nt = tiles.len();
    for j in 0..nt {
        for k in 0..j {
            let column = &tiles[j][k];
            s.task("syrk").index([j, k]).spawn((column.read(), tiles[j][j].inout()), move |(a, c)| {
                pivot.unless_failed(|| kernels::syrk(a, c));
            });
            for (i, row) in tiles.iter().enumerate().skip(j + 1) {
                let access = (row[k].read(), column.read(), row[j].inout());
                s.task("gemm").index([i, j, k]).spawn(access, move |(a, b, c)| {
                    pivot.unless_failed(|| kernels::gemm_nt(a, b, c));
                });
            }
        }
        s.task("potrf").index([j]).spawn(tiles[j][j].inout(), move |a| {
            pivot.try_factor(j, || kernels::potrf(a));
        });
        for (i, row) in tiles.iter().enumerate().skip(j + 1) {
            s.task("trsm").index([i, j]).spawn((tiles[j][j].read(), row[j].inout()), move |(l, b)| {
                pivot.unless_failed(|| kernels::trsm(l, b));
            });
        }
    }
}

/// The number of tasks for `nt` tiles in a column.
pub fn count(nt: u64) -> u64 {
    let pairs = nt * (nt - 1) / 2;
    nt + 2 * pairs + pairs * nt.saturating_sub(2) / 3
}
