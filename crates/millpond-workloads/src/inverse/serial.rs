//! The serial program: the loops of the steps, calling the same kernels.

use crate::cholesky::Pivot;
use crate::matrix::{Tile, kernels};

/// Inverts the matrix of these tiles in place.
pub fn serial(tiles: &mut [Vec<Tile>], pivot: &Pivot) {
    let nt = tiles.len();
    for k in 0..nt {
        if let Err(row) = kernels::invert(&mut tiles[k][k]) {
            return pivot.failed(k, row);
        }
        let inverse = tiles[k][k].clone();
        for j in (0..nt).filter(|&j| j != k) {
            tiles[k][j] = kernels::product(1.0, &inverse, &tiles[k][j]);
        }
        let row = std::mem::take(&mut tiles[k]);
        for own in tiles.iter_mut().filter(|own| !own.is_empty()) {
            let column = own[k].clone();
            for j in (0..nt).filter(|&j| j != k) {
                kernels::gemm_less(&column, &row[j], &mut own[j]);
            }
            own[k] = kernels::product(-1.0, &column, &inverse);
        }
        tiles[k] = row;
    }
}
