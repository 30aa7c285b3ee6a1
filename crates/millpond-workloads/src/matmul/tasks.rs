//! The task program: one task per product of two tiles.

use super::{Order, serial::steps};
use crate::matrix::{Tile, kernels};
use millpond::{Handle, Spawn};

/// A matrix of tiles for tasks.
pub type Tiles<B> = Vec<Vec<Handle<Tile, B>>>;

/// `c := c + a b`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, a: &Tiles<S::Brand>, b: &Tiles<S::Brand>, c: &Tiles<S::Brand>, order: Order) {
    for (i, j, k) in steps(a.len(), order) {
        let access = (a[i][k].read(), b[k][j].read(), c[i][j].inout());
        s.task("gemm").index([i, j, k]).spawn(access, |(a, b, c)| kernels::gemm(a, b, c));
    }
}

/// The number of tasks for `nt` tiles in a column.
pub fn count(nt: u64) -> u64 {
    nt.pow(3)
}
