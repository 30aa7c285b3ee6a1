use crate::cholesky::{OF_SQUARE, Params, Shape};
use crate::matrix::Matrix;
use crate::matrix::memory::Needs;
use crate::options::{Opt, Options};
use crate::{Error, collections};

/// The options of this workload: `cholesky`'s without `--lower`, and the settings of Collections.
pub const OPTIONS: [Opt; 9] = collections::options(OF_SQUARE);

/// The matrix, its inverse and their product, and a matrix as tiles. Also the slots of each step's
/// items: 175 bytes, by `peak_rss_bytes` of `run inverse --n 100 --tile 1`.
const NEEDS: Needs = Needs { bytes_per_entry: 8 * 4, tiled_halves: 2, tasks: |tiles| tiles.pow(3).saturating_mul(256) };

/// Checks the options; reads or generates the matrix.
pub(super) fn load(options: &Options) -> Result<(Params, Matrix), Error> {
    Params::load(options, NEEDS, Shape::Square)
}
