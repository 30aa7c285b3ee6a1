use crate::matrix::memory;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections};
use millpond_cnc::{Limit, Settings};

const TILES: Opt = Opt::integer("tiles", "Tiles", (1, 4096), Some(16));
const ITERATIONS: Opt = Opt::integer("iterations", "Iterations at most", (1, 10_000), Some(16));
const SIZE: Opt = Opt::integer("size", "Rows and columns of a tile", (1, 1000), Some(10));
const WORK: Opt = Opt::integer(
    "work",
    "Further work of each update, in thousands of steps of two cycles",
    (0, 10_000_000),
    Some(100),
);
const LATE: Opt = Opt::integer(
    "late",
    "Further work of one tile an iteration, another one of the last quarter each time, in the same unit",
    (0, 10_000_000),
    Some(0),
);
const SEED: Opt = Opt::integer("seed", "Seed of the tiles", (0, u64::MAX), Some(1));

/// The options of this workload.
pub const OPTIONS: [Opt; 10] = collections::options([TILES, ITERATIONS, SIZE, WORK, LATE, SEED]);

/// The parameters of the workload.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// The number of tiles.
    pub tiles: u64,
    /// The maximum number of iterations.
    pub iterations: u64,
    /// Rows and columns of a tile.
    pub size: u64,
    /// Additional work of each update, in thousands of steps.
    pub work: u64,
    /// Additional work of one tile per iteration.
    pub late: u64,
    /// The seed of the tiles.
    pub seed: u64,
    /// The settings of the steps.
    pub settings: Settings,
}

impl Params {
    /// Checks the options.
    pub fn load(options: &Options) -> Result<Self, Error> {
        let params = Self {
            tiles: options.get(&TILES)?,
            iterations: options.get(&ITERATIONS)?,
            size: options.get(&SIZE)?,
            work: options.get(&WORK)?,
            late: options.get(&LATE)?,
            seed: options.get(&SEED)?,
            // The first tile, as in the paper, because a reduction always reads it.
            settings: collections::settings(options, Limit::First(1))?,
        };
        memory::available().map_or(Ok(()), |available| params.require_memory(available))?;
        Ok(params)
    }

    /// Fails if the tiles of all iterations exceed the memory. All are kept.
    fn require_memory(&self, available: u64) -> Result<(), Error> {
        const WHY: &str = " (with the memory available, for so many tiles)";
        const PLACE: u64 = 128;
        // The maximum number for the memory, in addition to the given tiles.
        let iterations = |size: u64| (available / (self.tiles * (size * size * 8 + PLACE))).saturating_sub(1);
        let (own, max) = (self.iterations, iterations(self.size));
        if max == 0 {
            let max = (1..self.size).rev().find(|&size| iterations(size) > 0).unwrap_or(1);
            return Err(Error::Range { option: SIZE.name, value: self.size, min: 1, max, why: WHY });
        }
        if own > max {
            return Err(Error::Range { option: ITERATIONS.name, value: own, min: 1, max, why: WHY });
        }
        Ok(())
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("tiles", Value::Integer(self.tiles)),
            ("iterations", Value::Integer(self.iterations)),
            ("size", Value::Integer(self.size)),
            ("work", Value::Integer(self.work)),
            ("late", Value::Integer(self.late)),
            ("seed", Value::Integer(self.seed)),
            collections::need(self.settings),
        ]
    }
}
