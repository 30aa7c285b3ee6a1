use crate::Error;
use crate::form::TASKS;
use crate::matrix::memory;
use crate::options::{Opt, Options, Value};

const MAX_N: u64 = 1 << 30;
const MAX_STEPS: u64 = 1 << 30;

/// The default points of a tile, as in the workloads on matrices. A task of 125 points is shorter
/// than its spawn. With 10,000 points (80 KB) a task takes microseconds, and its next state is
/// still in a core's own cache.
const DEFAULT_TILE: u64 = 125;

const N: Opt = Opt::integer("n", "Points of the rod", (1, MAX_N), Some(100_000));
const STEPS: Opt = Opt::integer("steps", "Steps in time", (0, MAX_STEPS), Some(100));
const TILE: Opt = Opt::integer("tile", "Points of a tile [default: 125, or n if smaller]", (1, MAX_N), None);

/// The options of this workload.
pub const OPTIONS: [Opt; 4] = [N, STEPS, TILE, TASKS];

/// The bytes of a point: its two states, each perhaps in two versions, the answer, and the
/// reference.
const BYTES_PER_POINT: u64 = 8 * 6;
/// The bytes of a tile in addition to its points: two handles with their versions and vectors.
const BYTES_PER_TILE: u64 = 2 * 512;
const WHY: &str = " (with the memory available)";

/// The size of the rod, and of its tiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Points between the ends.
    pub n: usize,
    /// Steps in time.
    pub steps: u64,
    /// Points of a tile; the last tile may have fewer.
    pub tile: usize,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let (n, steps) = (options.get(&N)?, options.get(&STEPS)?);
        let available = memory::available().unwrap_or(u64::MAX);
        if n * BYTES_PER_POINT > available {
            let max = available / BYTES_PER_POINT;
            return Err(Error::Range { option: N.name, value: n, min: 1, max, why: WHY });
        }
        let tile = options.get_integer(&TILE)?.unwrap_or(DEFAULT_TILE.min(n));
        if tile > n {
            return Err(Error::Range {
                option: TILE.name,
                value: tile,
                min: 1,
                max: n,
                why: " (the points of the rod)",
            });
        }
        let most_tiles = (available - n * BYTES_PER_POINT) / BYTES_PER_TILE;
        if n.div_ceil(tile) > most_tiles.max(1) {
            let min = n.div_ceil(most_tiles.max(1));
            return Err(Error::Range { option: TILE.name, value: tile, min, max: n, why: WHY });
        }
        Ok(Self { n: n as usize, steps, tile: tile as usize })
    }

    /// The number of tiles.
    pub fn tiles(&self) -> u64 {
        self.n.div_ceil(self.tile) as u64
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let Self { n, steps, tile } = *self;
        vec![("n", Value::Integer(n as u64)), ("steps", Value::Integer(steps)), ("tile", Value::Integer(tile as u64))]
    }
}
