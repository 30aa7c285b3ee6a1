use super::{Portfolio, generate, text};
use crate::matrix::memory;
use crate::matrix::params::SEED;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections, input, output};
use millpond_cnc::{Limit, Settings};
use std::path::{Path, PathBuf};

/// The maximum number of options: blocks of one option have 32-bit numbers.
const MAX_OPTIONS: u64 = 1 << 26;

const COUNT: Opt = Opt::integer("options", "Options that are generated", (1, MAX_OPTIONS), Some(1_500_000));
const GRANULARITY: Opt = Opt::integer("granularity", "Options that a step prices", (1, MAX_OPTIONS), Some(100));
const INPUT: Opt = Opt::path("input", "Read the options from FILE, a text as PARSEC has it");
const OUTPUT: Opt = Opt::path("output", "Write the prices to FILE, one a line");

/// The options of this workload.
pub const OPTIONS: [Opt; 8] = collections::options_without_table([COUNT, GRANULARITY, SEED, INPUT, OUTPUT]);

/// The bytes of an option: itself, its reference, its price, and the price again when all prices
/// are collected.
const OPTION: u64 = 48 + 3 * 8;

/// The maximum bytes of a block in addition to its options: its two items, and its step.
const BLOCK: u64 = 512;

/// The parameters of the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The number of options.
    pub options: usize,
    /// The number of options per step. The last step prices the rest.
    pub granularity: usize,
    /// The seed, if the options are generated.
    pub seed: Option<u64>,
    /// The file, if the options are read.
    pub input: Option<PathBuf>,
    /// The output file of the prices.
    pub output: Option<PathBuf>,
    /// The settings of the steps.
    pub settings: Settings,
}

impl Params {
    /// Checks the parameters; reads or generates the options.
    pub fn load(options: &Options) -> Result<(Self, Portfolio), Error> {
        let settings = collections::settings(options, Limit::All)?;
        let (input, output) = (options.get_path(&INPUT), options.get_path(&OUTPUT));
        let (count, seed, granularity) = (options.get(&COUNT)?, options.get(&SEED)?, options.get(&GRANULARITY)?);
        let most = most(granularity);
        let read = match &input {
            Some(file) => {
                exclusive(options, file, output.as_deref())?;
                Some(text::parse(file, &input::bytes(file)?, most)?)
            }
            None if count > most => {
                let why = " (with the memory available)";
                return Err(Error::Range { option: COUNT.name, value: count, min: 1, max: most, why });
            }
            None => None,
        };
        output.as_deref().map_or(Ok(()), output::require)?;
        let seed = input.is_none().then_some(seed);
        let portfolio = read.unwrap_or_else(|| Portfolio {
            contracts: generate(count as usize, seed.unwrap_or_default()),
            references: None,
        });
        let (options, granularity) = (portfolio.contracts.len(), granularity as usize);
        Ok((Self { options, granularity, seed, input, output, settings }, portfolio))
    }

    /// The number of blocks of options.
    pub fn blocks(&self) -> u32 {
        self.options.div_ceil(self.granularity) as u32
    }

    /// Every parameter after defaults. Files have no default, and are included only if given.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values = vec![
            ("options", Value::Integer(self.options as u64)),
            ("granularity", Value::Integer(self.granularity as u64)),
            ("seed", self.seed.map_or(Value::None, Value::Integer)),
            collections::need(self.settings),
        ];
        let files = [("input", &self.input), ("output", &self.output)];
        values.extend(files.into_iter().filter_map(|(name, file)| Some((name, Value::Path(file.clone()?)))));
        values
    }
}

/// The maximum number of options for the machine's memory.
fn most(granularity: u64) -> u64 {
    let each = OPTION + BLOCK.div_ceil(granularity);
    memory::available().map_or(MAX_OPTIONS, |available| (available / each).min(MAX_OPTIONS))
}

/// Refuses parameters that conflict with an input.
fn exclusive(options: &Options, input: &Path, output: Option<&Path>) -> Result<(), Error> {
    for opt in [&COUNT, &SEED] {
        if options.has(opt) {
            return Err(Error::Conflict { one: opt.name, other: INPUT.name, why: "the file has the options" });
        }
    }
    if output.is_some_and(|output| output::place(output) == output::place(input)) {
        return Err(Error::Conflict { one: OUTPUT.name, other: INPUT.name, why: "they are the same file" });
    }
    Ok(())
}
