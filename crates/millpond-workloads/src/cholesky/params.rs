use crate::Error;
use crate::matrix::{self, MAX_N, Matrix, default_tile, generate, memory};
use crate::options::{Kind, Opt, Options, Value};
use std::path::PathBuf;

const N: Opt = Opt {
    name: "n",
    help: "Order of the generated matrix",
    kind: Kind::Integer { min: 1, max: MAX_N, default: Some(2000) },
};
const TILE: Opt = Opt {
    name: "tile",
    help: "Order of a tile [default: 125, or n if smaller]",
    kind: Kind::Integer { min: 1, max: MAX_N, default: None },
};
const SEED: Opt = Opt {
    name: "seed",
    help: "Seed of the generated matrix",
    kind: Kind::Integer { min: 0, max: u64::MAX, default: Some(1) },
};
const INPUT: Opt =
    Opt { name: "input", help: "Read the matrix from FILE: .mtx (Matrix Market) or .npy (NumPy)", kind: Kind::Path };
const OUTPUT: Opt = Opt { name: "output", help: "Write the factor to FILE as .npy", kind: Kind::Path };

/// The options of this workload.
pub const OPTIONS: &[Opt] = &[N, TILE, SEED, INPUT, OUTPUT];

/// What is to be factored, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The order of the matrix.
    pub n: usize,
    /// The order of a tile.
    pub tile: usize,
    /// The seed, if the matrix is generated.
    pub seed: Option<u64>,
    /// The file, if the matrix is read.
    pub input: Option<PathBuf>,
    /// Where the factor is written.
    pub output: Option<PathBuf>,
}

impl Params {
    /// Checks the options; reads or generates the matrix.
    pub fn load(options: &Options) -> Result<(Self, Matrix), Error> {
        let (n, seed, tile) = (options.get(&N)?, options.get(&SEED)?, options.get_integer(&TILE)?);
        let (input, output) = (options.get_path(&INPUT), options.get_path(&OUTPUT));
        let matrix = match &input {
            Some(file) => {
                exclusive(options)?;
                matrix::read(file)?
            }
            None => {
                check_tile(tile, n)?;
                // The matrix, its tiles, the factor and the difference that the check forms.
                memory::require("cholesky", n * n * 8 * 7 / 2)?;
                generate::positive_definite(n as usize, seed)
            }
        };
        let n = matrix.rows();
        check_tile(tile, n as u64)?;
        if let Some(file) = &input {
            matrix.symmetric().map_err(|flaw| flaw.of(file))?;
        }
        let tile = tile.map_or(default_tile(n), |t| t as usize);
        let seed = if input.is_some() { None } else { Some(seed) };
        Ok((Self { n, tile, seed, input, output }, matrix))
    }

    /// Every parameter after defaults; the files only if they were given, for they have no default.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let seed = self.seed.map_or(Value::None, Value::Integer);
        let mut values =
            vec![("n", Value::Integer(self.n as u64)), ("tile", Value::Integer(self.tile as u64)), ("seed", seed)];
        let files = [("input", &self.input), ("output", &self.output)];
        values.extend(files.into_iter().filter_map(|(name, file)| Some((name, Value::Path(file.clone()?)))));
        values
    }

    /// What to call the matrix in a message.
    pub fn matrix_name(&self) -> String {
        match &self.input {
            Some(file) => file.display().to_string(),
            None => format!("the generated matrix of order {}", self.n),
        }
    }
}

fn exclusive(options: &Options) -> Result<(), Error> {
    for opt in [&N, &SEED] {
        if options.has(opt) {
            return Err(Error::Conflict { one: opt.name, other: INPUT.name, why: "the file has the matrix" });
        }
    }
    Ok(())
}

/// Refuses a tile that is larger than the matrix.
pub(crate) fn check_tile(tile: Option<u64>, n: u64) -> Result<(), Error> {
    match tile {
        Some(value) if value > n => {
            Err(Error::Range { option: TILE.name, value, min: 1, max: n, why: " (the order of the matrix)" })
        }
        _ => Ok(()),
    }
}
