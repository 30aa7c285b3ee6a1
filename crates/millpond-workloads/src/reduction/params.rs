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
pub const OPTIONS: [Opt; 9] = collections::options([TILES, ITERATIONS, SIZE, WORK, LATE, SEED]);

/// What is reduced.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// Tiles.
    pub tiles: u64,
    /// Iterations at most.
    pub iterations: u64,
    /// Rows and columns of a tile.
    pub size: u64,
    /// Further work of each update, in thousands of steps.
    pub work: u64,
    /// Further work of one tile an iteration.
    pub late: u64,
    /// Of the tiles.
    pub seed: u64,
    /// How the steps are run.
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
            // As in the paper, the first tile: a reduction reads that for sure.
            settings: collections::settings(options, Limit::First(1))?,
        };
        // All tiles of all iterations are kept.
        let bytes = params.tiles * (params.iterations + 1) * (params.size * params.size * 8 + 128);
        match crate::matrix::memory::available() {
            Some(available) if bytes > available => {
                let max = (params.iterations * available / bytes).max(1);
                let why = " (with the memory available, for so many tiles of that size)";
                Err(Error::Range { option: ITERATIONS.name, value: params.iterations, min: 1, max, why })
            }
            _ => Ok(params),
        }
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
