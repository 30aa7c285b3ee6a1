//! The serial program, and the shared computation.

use super::Params;
use crate::matrix::generate::mix;
use crate::spin::work;

/// A tile of one iteration.
#[derive(Debug, Clone)]
pub struct Tile {
    cells: Box<[f64]>,
    /// The largest change of a cell.
    change: f64,
}

impl Tile {
    /// The initial tile. Later tiles take longer to converge, so that the reduction reads more
    /// tiles in each iteration.
    pub fn given(params: &Params, tile: u64) -> Self {
        let halvings = 1.25 * (params.iterations * (tile + 1)) as f64 / params.tiles as f64;
        let number = |cell: u64| (mix(params.seed ^ mix(tile << 32 | cell)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        let cells = (0..params.size * params.size).map(|cell| number(cell) * halvings.min(1000.0).exp2()).collect();
        Tile { cells, change: f64::INFINITY }
    }

    /// The tile of the next iteration. Each cell keeps 0.4 of its value, and gets 0.025 of each
    /// neighbour's, so that values halve on average. Opposite edges are joined.
    pub fn updated(&self, params: &Params, iteration: u64, tile: u64) -> Self {
        let size = params.size as usize;
        let at = |row: usize, column: usize| self.cells[row % size * size + column % size];
        let next = |cell: usize| {
            let (row, column) = (cell / size + size, cell % size + size);
            let around = at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1);
            0.4 * at(row, column) + 0.025 * around
        };
        let cells: Box<[f64]> = (0..size * size).map(next).collect();
        let change = self.cells.iter().zip(&cells).map(|(old, new)| (old - new).abs()).fold(0.0, f64::max);
        work(1000 * (params.work + if is_late(params, iteration, tile) { params.late } else { 0 }));
        Tile { cells, change }
    }

    /// Whether the tile has almost stopped changing.
    pub fn has_converged(&self) -> bool {
        self.change < 0.25
    }
}

/// Whether this is the iteration's late tile. It is in the last quarter, and changes with each
/// iteration.
fn is_late(params: &Params, iteration: u64, tile: u64) -> bool {
    tile == params.tiles - 1 - iteration % (params.tiles / 4).max(1)
}

/// The result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether all tiles have converged.
    pub value: bool,
    /// The number of iterations before the decision.
    pub iterations: u64,
    /// The number of tiles read by the reductions.
    pub tiles_read: u64,
}

/// Iterates all tiles until they have converged.
pub fn serial(params: &Params) -> Decision {
    let mut tiles: Vec<_> = (0..params.tiles).map(|tile| Tile::given(params, tile)).collect();
    let mut tiles_read = 0;
    for iteration in 1..=params.iterations {
        for (at, tile) in (0..).zip(&mut tiles) {
            *tile = tile.updated(params, iteration, at);
        }
        let open = tiles.iter().position(|tile| !tile.has_converged());
        tiles_read += open.map_or(params.tiles, |first| first as u64 + 1);
        if open.is_none() {
            return Decision { value: true, iterations: iteration, tiles_read };
        }
    }
    Decision { value: false, iterations: params.iterations, tiles_read }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn the_reduction_reads_further_and_further() {
        let options = |iterations| Options::new().integer("work", 0).integer("iterations", iterations);
        let params = Params::load(&options(16)).unwrap();
        let limited = serial(&params);
        assert!(!limited.value && limited.iterations == 16);
        // More than the first tile, but not all.
        assert!((32..200).contains(&limited.tiles_read), "{limited:?}");
        // All converge in the end, whatever the number of iterations.
        let mut tiles: Vec<_> = (0..16).map(|tile| Tile::given(&params, tile)).collect();
        let rounds = (1..100).find(|&round| {
            tiles = (0..).zip(&tiles).map(|(at, tile)| tile.updated(&params, round, at)).collect();
            tiles.iter().all(Tile::has_converged)
        });
        assert!(rounds.is_some_and(|rounds| rounds > 16), "{rounds:?}");
    }
}
