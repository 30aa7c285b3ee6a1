//! The serial program: the loops of the task program, calling the kernels.

use super::Pivot;
use crate::matrix::{Tile, kernels};

/// Factors the tiles of a lower half in place.
pub fn serial(tiles: &mut [Vec<Tile>], pivot: &Pivot) {
    for j in 0..tiles.len() {
        let (above, below) = tiles.split_at_mut(j + 1);
        let top = &mut above[j];
        let (done, diagonal) = top.split_at_mut(j);
        for k in 0..j {
            kernels::syrk(&done[k], &mut diagonal[0]);
            for row in below.iter_mut() {
                let (left, right) = row.split_at_mut(j);
                kernels::gemm_nt(&left[k], &done[k], &mut right[0]);
            }
        }
        if let Err(row) = kernels::potrf(&mut diagonal[0]) {
            return pivot.failed(j, row);
        }
        for row in below {
            kernels::trsm(&diagonal[0], &mut row[j]);
        }
    }
}
