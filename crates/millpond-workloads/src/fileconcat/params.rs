use super::input;
use crate::matrix::memory;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections, output};
use millpond_cnc::{Limit, Preconditions, Settings};
use std::path::PathBuf;

const FILES: Opt = Opt::integer("files", "Files to make", (1, 1 << 24), Some(1 << 15));
const LENGTH: Opt = Opt::integer("length", "Bytes of a file that is made, on average", (0, 1 << 30), Some(1 << 10));
const SEED: Opt = Opt::integer("seed", "Seed of the files that are made", (0, u64::MAX), Some(1));
const DIR: Opt = Opt::path(
    "dir",
    "Read the regular files in FILE, a directory, in the order of their names; not those further down",
);
const OUTPUT: Opt = Opt::path("output", "Write the concatenation to FILE");
const BLOCK: Opt = Opt::integer("block", "Bytes of a block", (1, 1 << 24), Some(1 << 12));

/// The options of this workload.
pub const OPTIONS: [Opt; 10] = collections::options([FILES, LENGTH, SEED, DIR, OUTPUT, BLOCK]);

/// The maximum bytes of a file in addition to its content: its inode, a concatenation's inode, and
/// their table entries.
const FILE: u64 = 2048;
/// The bytes of a block in addition to its content: its table entries. It has one for each
/// consecutive concatenation, until one block is left.
const PLACE: u64 = 128;
/// The maximum number of blocks. They have 32-bit numbers, including those with lists.
const MAX_BLOCKS: u64 = 1 << 31;

/// The parameters of the workload.
#[derive(Debug, Clone)]
pub struct Params {
    /// The number of files.
    pub files: u32,
    /// The average bytes of a file, and the seed, if the files are generated.
    pub made: Option<(u64, u64)>,
    /// The directory, if the files are read.
    pub dir: Option<PathBuf>,
    /// The output file of the concatenation.
    pub output: Option<PathBuf>,
    /// Bytes of a block.
    pub block: usize,
    /// The settings of the steps.
    pub settings: Settings,
}

impl Params {
    /// Checks the options; reads or generates the files.
    pub fn load(options: &Options) -> Result<(Self, Vec<Vec<u8>>), Error> {
        // An inode is always needed. If it is missing, the step cannot begin (FP §VI.F).
        let settings = collections::settings(options, Limit::First(1))?;
        if settings.preconditions == Preconditions::Strict {
            return Err(not_strict());
        }
        let (dir, output) = (options.get_path(&DIR), options.get_path(&OUTPUT));
        let (block, made) = (options.get(&BLOCK)?, (options.get(&LENGTH)?, options.get(&SEED)?));
        let files = match &dir {
            Some(dir) => {
                for opt in [&FILES, &LENGTH, &SEED] {
                    if options.has(opt) {
                        let why = "the directory has the files";
                        return Err(Error::Conflict { one: opt.name, other: DIR.name, why });
                    }
                }
                let files = input::list(dir)?;
                if output.as_deref().map(output::place).is_some_and(|place| files.contains_place(&place)) {
                    let why = "the output is one of the files to be concatenated";
                    return Err(Error::Conflict { one: OUTPUT.name, other: DIR.name, why });
                }
                output.as_deref().map_or(Ok(()), output::require)?;
                files.read(|files, bytes| fits(files, bytes, block))?
            }
            None => {
                let files = options.get(&FILES)?;
                require_memory(files, made.0, block)?;
                output.as_deref().map_or(Ok(()), output::require)?;
                input::make(files, made.0, made.1)
            }
        };
        let made = dir.is_none().then_some(made);
        Ok((Self { files: files.len() as u32, made, dir, output, block: block as usize, settings }, files))
    }

    /// Every parameter after defaults. Directory and output have no default, and are included only
    /// if given.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let made =
            |value: fn(&(u64, u64)) -> u64| self.made.as_ref().map_or(Value::None, |made| Value::Integer(value(made)));
        let mut values = vec![
            ("files", Value::Integer(self.files.into())),
            ("length", made(|made| made.0)),
            ("seed", made(|made| made.1)),
            ("block", Value::Integer(self.block as u64)),
            collections::need(self.settings),
        ];
        let paths = [("dir", &self.dir), ("output", &self.output)];
        values.extend(paths.into_iter().filter_map(|(name, path)| Some((name, Value::Path(path.clone()?)))));
        values
    }
}

fn not_strict() -> Error {
    let why = "which blocks a step gets is said by the inodes that it gets first, so it cannot list them before it starts; \
               expected flexible or eager";
    Error::Value { option: collections::PRECONDITIONS.name, value: "strict".to_owned(), why: why.to_owned() }
}

/// Whether there is enough memory for the files and their bytes. The bytes are in the files and in
/// blocks. A concatenation copies the blocks once more.
fn fits(files: u64, bytes: u64, block: u64) -> bool {
    let levels = u64::from(files.max(1).next_power_of_two().ilog2()) + 1;
    let places = (bytes / block).saturating_mul(PLACE * levels);
    let needs = bytes.saturating_mul(3).saturating_add(files * FILE).saturating_add(places);
    bytes / block < MAX_BLOCKS && memory::available().is_none_or(|available| needs <= available)
}

/// Fails if there is not enough memory for the generated files.
fn require_memory(files: u64, length: u64, block: u64) -> Result<(), Error> {
    let fits = |files: u64, block: u64| fits(files, files.saturating_mul(length), block);
    if fits(files, block) {
        return Ok(());
    }
    let why = " (with the memory available)";
    // Larger blocks need less memory.
    if let Some(min) = (block.ilog2()..=24).map(|power| 1 << power).find(|&block| fits(files, block)) {
        return Err(Error::Range { option: BLOCK.name, value: block, min, max: 1 << 24, why });
    }
    let max = (0..=24).rev().map(|power| 1 << power).find(|&files| fits(files, block)).unwrap_or(1);
    Err(Error::Range { option: FILES.name, value: files, min: 1, max, why })
}
