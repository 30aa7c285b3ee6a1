use super::directory;
use crate::matrix::generate::mix;
use crate::matrix::memory;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections, output};
use millpond_cnc::{Limit, Preconditions, Settings};
use std::path::PathBuf;

const FILES: Opt = Opt::integer("files", "Files that are generated", (1, 1 << 24), Some(32_768));
const SEED: Opt = Opt::integer("seed", "Seed of what is generated", (0, u64::MAX), Some(1));
const DIR: Opt = Opt::path("dir", "Concatenate the regular files in the directory FILE, in order of their names");
const OUTPUT: Opt = Opt::path("output", "Write the concatenation to FILE");

/// The options of this workload.
pub const OPTIONS: [Opt; 7] = collections::options([FILES, SEED, DIR, OUTPUT]);

/// Of a generated file on average.
const BYTES: u64 = 1400;
/// Copies that there are of the content: the files, their blocks, the result, and what is put together from blocks.
const COPIES: u64 = 4;

/// What is concatenated.
#[derive(Debug, Clone)]
pub struct Params {
    /// How many files.
    pub files: usize,
    /// The seed, if they are generated.
    pub seed: Option<u64>,
    /// The directory, if they are read.
    pub dir: Option<PathBuf>,
    /// Where the concatenation is written.
    pub output: Option<PathBuf>,
    /// How the steps are run.
    pub settings: Settings,
}

impl Params {
    /// Checks the options; reads or generates the files.
    pub fn load(options: &Options) -> Result<(Self, Vec<Vec<u8>>), Error> {
        // Which of the two comes last nobody knows.
        let settings = collections::settings(options, Limit::First(1))?;
        if settings.preconditions == Preconditions::Strict {
            let why = "the blocks that a step gets are values of the inodes that it got, so it cannot say them before it \
                       starts: expected flexible or eager";
            return Err(Error::Value { option: "preconditions", value: "strict".to_owned(), why: why.to_owned() });
        }
        let (dir, output) = (options.get_path(&DIR), options.get_path(&OUTPUT));
        let (count, seed) = (options.get(&FILES)?, options.get(&SEED)?);
        let (seed, files) = match &dir {
            Some(dir) => {
                for opt in [&FILES, &SEED] {
                    if options.has(opt) {
                        return Err(Error::Conflict {
                            one: opt.name,
                            other: DIR.name,
                            why: "the directory has the files",
                        });
                    }
                }
                (None, directory::read(dir, output.as_deref(), COPIES)?)
            }
            None => {
                enough_memory(count)?;
                (Some(seed), (0..count).map(|nth| generate(seed, nth)).collect())
            }
        };
        output.as_deref().map_or(Ok(()), output::require)?;
        Ok((Self { files: files.len(), seed, dir, output, settings }, files))
    }

    /// Every parameter after defaults; the files only if they were given, for they have no default.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values =
            vec![("files", Value::Integer(self.files as u64)), ("seed", self.seed.map_or(Value::None, Value::Integer))];
        let paths = [("dir", &self.dir), ("output", &self.output)];
        values.extend(paths.into_iter().filter_map(|(name, path)| Some((name, Value::Path(path.clone()?)))));
        values.push(collections::need(self.settings));
        values
    }
}

fn enough_memory(count: u64) -> Result<(), Error> {
    match memory::available().map(|available| available / (COPIES * BYTES + 1024)) {
        Some(max) if count > max => {
            let why = " (with the memory available)";
            Err(Error::Range { option: FILES.name, value: count, min: 1, max: max.max(1), why })
        }
        _ => Ok(()),
    }
}

/// A file of up to 2 kB; each 256th is long, so that its inode cannot list all of its blocks.
fn generate(seed: u64, nth: u64) -> Vec<u8> {
    let draw = |what: u64| mix(seed ^ mix(nth << 24 | what));
    let bytes = if nth % 256 == 255 { 60_000 + draw(0) % 90_000 } else { draw(0) % 2000 };
    (0..bytes.div_ceil(8)).flat_map(|word| draw(1 + word).to_le_bytes()).take(bytes as usize).collect()
}
