//! The kernels of tiled linear algebra, each on one core.
//!
//! The products are faer's, the fastest on tiles of 125, measured on one AVX-512 core with tiles in
//! the cache. `cargo run --profile max -p millpond-workloads --example kernels` repeats the
//! measurement.
//!
//! | crate | GFLOP/s |
//! |---|---|
//! | faer | 74-77 |
//! | matrixmultiply | 50-64 |
//! | gemm | 37 |

use super::Tile;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::lu::partial_pivoting::inverse::{inverse, inverse_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Par};

/// The rows updated by [`syrk`] in one product. They are a few vectors, so that little of the upper
/// half is computed. With fewer rows, the products would be too small.
const STRIP: usize = 16;

/// `a := L` with `L L^T = a`, in the lower half. The error is the row of the nonpositive pivot.
pub fn potrf(a: &mut Tile) -> Result<(), usize> {
    let a = a.view_mut();
    let mut buffer = MemBuffer::new(cholesky_in_place_scratch::<f64>(a.nrows(), Par::Seq, Default::default()));
    match cholesky_in_place(a, Default::default(), Par::Seq, MemStack::new(&mut buffer), Default::default()) {
        Ok(_) => Ok(()),
        Err(LltError::NonPositivePivot { index }) => Err(index),
    }
}

/// `b := b L^-T`, where `L` is the lower half of `l`.
pub fn trsm(l: &Tile, b: &mut Tile) {
    solve_lower_triangular_in_place(l.view(), b.view_mut().transpose_mut(), Par::Seq);
}

/// `c := c - a a^T` on and below the diagonal. The entries above it have no meaning afterwards.
pub fn syrk(a: &Tile, c: &mut Tile) {
    let (a, mut c) = (a.view(), c.view_mut());
    let (n, k) = (c.nrows(), a.ncols());
    for i in (0..n).step_by(STRIP) {
        let rows = STRIP.min(n - i);
        let left = a.submatrix(i, 0, rows, k);
        let right = a.submatrix(0, 0, i + rows, k).transpose();
        matmul(c.as_mut().submatrix_mut(i, 0, rows, i + rows), Accum::Add, left, right, -1.0, Par::Seq);
    }
}

/// `c := c - a b^T`.
pub fn gemm_nt(a: &Tile, b: &Tile, c: &mut Tile) {
    matmul(c.view_mut(), Accum::Add, a.view(), b.view().transpose(), -1.0, Par::Seq);
}

/// `c := c + a b`.
pub fn gemm(a: &Tile, b: &Tile, c: &mut Tile) {
    matmul(c.view_mut(), Accum::Add, a.view(), b.view(), 1.0, Par::Seq);
}

/// `c := c - a b`.
pub fn gemm_less(a: &Tile, b: &Tile, c: &mut Tile) {
    matmul(c.view_mut(), Accum::Add, a.view(), b.view(), -1.0, Par::Seq);
}

/// `alpha a b`.
pub fn product(alpha: f64, a: &Tile, b: &Tile) -> Tile {
    let mut c = Tile::zeros(a.view().nrows(), b.view().ncols());
    matmul(c.view_mut(), Accum::Replace, a.view(), b.view(), alpha, Par::Seq);
    c
}

/// `a := a^-1`, with row exchanges. The error is the row of the pivot that is zero or not finite.
pub fn invert(a: &mut Tile) -> Result<(), usize> {
    let n = a.view().nrows();
    let scratch = lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, Default::default());
    let mut buffer = MemBuffer::new(scratch.or(inverse_scratch::<usize, f64>(n, Par::Seq)));
    let (mut rows, mut back) = (vec![0_usize; n], vec![0; n]);
    let stack = MemStack::new(&mut buffer);
    let (_, rows) = lu_in_place(a.view_mut(), &mut rows, &mut back, Par::Seq, stack, Default::default());
    let pivots = a.view().diagonal().column_vector();
    if let Some(row) = pivots.iter().position(|pivot| *pivot == 0.0 || !pivot.is_finite()) {
        return Err(row);
    }
    let mut x = Tile::zeros(n, n);
    inverse(x.view_mut(), a.view(), a.view(), rows, Par::Seq, MemStack::new(&mut buffer));
    *a = x;
    Ok(())
}
