//! The serial program: the loops of the task program, calling the kernel.

use super::Order;
use crate::matrix::{Tile, kernels};

/// The steps `(i, j, k)` of a product of `nt` x `nt` tiles, in spawn order.
pub fn steps(nt: usize, order: Order) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..nt).flat_map(move |x| {
        (0..nt).flat_map(move |y| {
            (0..nt).map(move |z| match order {
                Order::Ijk => (x, y, z),
                Order::Kij => (y, z, x),
            })
        })
    })
}

/// `c := c + a b`.
pub fn serial(a: &[Vec<Tile>], b: &[Vec<Tile>], c: &mut [Vec<Tile>], order: Order) {
    for (i, j, k) in steps(a.len(), order) {
        kernels::gemm(&a[i][k], &b[k][j], &mut c[i][j]);
    }
}
