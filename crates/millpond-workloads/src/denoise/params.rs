use super::picture::{Picture, synthetic};
use super::png;
use crate::matrix::memory;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections, output};
use millpond_cnc::{Limit, Settings};
use std::path::{Path, PathBuf};

const INPUT: Opt = Opt::path("input", "Read the picture from FILE, a PNG of any kind but animated");
const OUTPUT: Opt = Opt::path("output", "Write the picture without noise to FILE as PNG");
const SIZE: Opt = Opt::integer("size", "Cells along a side of the picture that is made", (32, 1 << 16), Some(512));
const NOISE: Opt = Opt::integer("noise", "Standard deviation of the noise, white being 255", (1, 100), Some(13));
const SEED: Opt = Opt::integer("seed", "Seed of the noise that is made", (0, u64::MAX), Some(1));
const TILE: Opt = Opt::integer("tile", "Cells along a side of a tile", (2, 1 << 16), Some(64));
const ITERATIONS: Opt = Opt::integer("iterations", "Iterations at most", (1, 1 << 16), Some(100));

/// The options of this workload.
pub const OPTIONS: [Opt; 11] = collections::options([INPUT, OUTPUT, SIZE, NOISE, SEED, TILE, ITERATIONS]);

/// The bytes of a cell in all pictures. These are the noisy picture, its tiles, the tiles of up to
/// four iterations, both results, the serial program's memory, and the clean picture. (At most 45
/// bytes, by `peak_rss_bytes` of `run denoise --size 2048 --workers 2`.)
const CELL: u64 = 4 * 12;
/// The remaining bytes of a tile after each iteration: its entries in the tables of tiles and of
/// verdicts.
const PLACES: u64 = 256;

/// The parameters of the workload.
#[derive(Debug, Clone)]
pub struct Params {
    /// The file, if the picture is read.
    pub input: Option<PathBuf>,
    /// The output file of the picture.
    pub output: Option<PathBuf>,
    /// The size of the picture and the seed of its noise, if it is generated.
    pub made: Option<(u64, u64)>,
    /// The standard deviation of the noise. White is 255.
    pub noise: u64,
    /// Cells along a side of a tile.
    pub tile: usize,
    /// The maximum number of iterations.
    pub iterations: u32,
    /// The settings of the steps.
    pub settings: Settings,
    /// The number of listed preconditions of a tile's step. It gets all items in any case, so the
    /// default is all.
    pub of_tiles: Limit,
}

impl Params {
    /// Checks the options; reads or generates the picture.
    pub fn load(options: &Options) -> Result<(Self, Picture), Error> {
        // The first tile is always needed, the others perhaps (FP §VI.G).
        let settings = collections::settings(options, Limit::First(1))?;
        let of_tiles = if options.has(&collections::NEED) { settings.limit } else { Limit::All };
        let (input, output) = (options.get_path(&INPUT), options.get_path(&OUTPUT));
        let (size, seed, noise) = (options.get(&SIZE)?, options.get(&SEED)?, options.get(&NOISE)?);
        let (tile, iterations) = (options.get(&TILE)?, options.get(&ITERATIONS)?);
        let fits = |width: u64, height: u64, channels: u64| fits([width, height], channels, tile, iterations);
        let read = match &input {
            Some(file) => {
                exclusive(options, file, output.as_deref())?;
                Some(png::read(file, fits)?)
            }
            None => {
                require_memory(size, |size| fits(size, size, 1))?;
                None
            }
        };
        output.as_deref().map_or(Ok(()), output::require)?;
        let made = read.is_none().then_some((size, seed));
        let picture = read.unwrap_or_else(|| synthetic(size as usize, noise, seed));
        let (tile, iterations) = (tile as usize, iterations as u32);
        Ok((Self { input, output, made, noise, tile, iterations, settings, of_tiles }, picture))
    }

    /// Every parameter after defaults. Files have no default, and are included only if given.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let made =
            |value: fn(&(u64, u64)) -> u64| self.made.as_ref().map_or(Value::None, |made| Value::Integer(value(made)));
        let mut values = vec![
            ("size", made(|made| made.0)),
            ("noise", Value::Integer(self.noise)),
            ("seed", made(|made| made.1)),
            ("tile", Value::Integer(self.tile as u64)),
            ("iterations", Value::Integer(self.iterations.into())),
            collections::need(self.settings),
        ];
        let files = [("input", &self.input), ("output", &self.output)];
        values.extend(files.into_iter().filter_map(|(name, file)| Some((name, Value::Path(file.clone()?)))));
        values
    }

    /// The standard deviation of the noise. White is 1.
    pub fn sigma(&self) -> f32 {
        self.noise as f32 / 255.0
    }
}

/// Refuses parameters that conflict with an input.
fn exclusive(options: &Options, input: &Path, output: Option<&Path>) -> Result<(), Error> {
    for opt in [&SIZE, &SEED] {
        if options.has(opt) {
            return Err(Error::Conflict { one: opt.name, other: INPUT.name, why: "the file has the picture" });
        }
    }
    if output.is_some_and(|output| output::place(output) == output::place(input)) {
        return Err(Error::Conflict { one: OUTPUT.name, other: INPUT.name, why: "they are the same file" });
    }
    Ok(())
}

/// Whether there is enough memory for a picture.
fn fits([width, height]: [u64; 2], channels: u64, tile: u64, iterations: u64) -> bool {
    let tiles = width.div_ceil(tile) * height.div_ceil(tile) * channels;
    let places = tiles.saturating_mul(PLACES).saturating_mul(iterations);
    let cells = (width * height).saturating_mul(channels * CELL);
    // Tiles have 32-bit numbers.
    tiles < 1 << 32 && memory::available().is_none_or(|available| cells.saturating_add(places) <= available)
}

/// Fails if there is not enough memory for the generated picture.
fn require_memory(size: u64, fits: impl Fn(u64) -> bool) -> Result<(), Error> {
    if fits(size) {
        return Ok(());
    }
    let max = (32..size).rev().step_by(32).find(|&size| fits(size)).unwrap_or(32);
    Err(Error::Range { option: SIZE.name, value: size, min: 32, max, why: " (with the memory available)" })
}
