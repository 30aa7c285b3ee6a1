//! The shared options of the workloads on matrices.

use super::memory::Needs;
use super::{MAX_N, default_tile};
use crate::Error;
use crate::options::{Opt, Options};

/// The order of a tile.
pub(crate) const TILE: Opt = Opt::integer("tile", "Order of a tile [default: 125, or n if smaller]", (1, MAX_N), None);

/// The seed of generated matrices.
pub(crate) const SEED: Opt = Opt::integer("seed", "Seed of what is generated", (0, u64::MAX), Some(1));

/// The order of generated matrices.
pub(crate) const fn order(help: &'static str) -> Opt {
    Opt::integer("n", help, (1, MAX_N), Some(2000))
}

/// The order of a tile for matrices of order `n`. Refused if it is larger than the matrix, or if
/// the tiles exceed the memory.
pub(crate) fn tile(options: &Options, n: usize, needs: Needs) -> Result<usize, Error> {
    let max = n as u64;
    match options.get_integer(&TILE)? {
        Some(value) if value > max => {
            Err(Error::Range { option: TILE.name, value, min: 1, max, why: " (the order of the matrix)" })
        }
        Some(value) => needs.require_tile(max, value).map(|()| value as usize),
        None => Ok(default_tile(n)),
    }
}
