use crate::matrix::memory::Needs;
use crate::matrix::{self, Matrix, generate, params};
use crate::options::{Opt, Options, Value};
use crate::{Error, output};
use std::path::{Path, PathBuf};

const N: Opt = params::order("Order of the generated matrix");
const INPUT: Opt = Opt::path("input", "Read the matrix from FILE: .mtx (Matrix Market) or .npy (NumPy)");
const OUTPUT: Opt = Opt::path("output", "Write the result to FILE as .npy");

const LOWER: Opt = Opt::flag("lower", "Use the lower half of the matrix in --input, whatever the upper half is");

/// The options of this workload.
pub const OPTIONS: [Opt; 6] = [N, params::TILE, params::SEED, INPUT, LOWER, OUTPUT];

/// The options of a workload on general matrices.
pub(crate) const OF_SQUARE: [Opt; 5] = [N, params::TILE, params::SEED, INPUT, OUTPUT];

/// The readable matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Square,
    Symmetric,
}

/// The parameters of a factorization or an inversion.
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
    /// Whether only the lower half of the file's matrix is used.
    pub lower: bool,
    /// The difference between the used halves of the file's matrix ([`Matrix::asymmetry`]), if both
    /// are used.
    pub asymmetry: Option<f64>,
    /// The output file of the factor.
    pub output: Option<PathBuf>,
}

impl Params {
    /// Checks the options; reads or generates the matrix.
    pub(crate) fn load(options: &Options, needs: Needs, shape: Shape) -> Result<(Self, Matrix), Error> {
        let (input, output) = (options.get_path(&INPUT), options.get_path(&OUTPUT));
        let (n, seed, lower) = (options.get(&N)?, options.get(&params::SEED)?, options.has(&LOWER));
        let (seed, mut read) = match &input {
            Some(file) => {
                exclusive(options, file, output.as_deref())?;
                (None, Some(matrix::read(file, needs)?))
            }
            None => {
                needs.require_order(n)?;
                (Some(seed), None)
            }
        };
        let n = read.as_ref().map_or(n as usize, |read| read.matrix.rows());
        let tile = params::tile(options, n, needs)?;
        let mut asymmetry = None;
        if let Some((file, read)) = input.as_ref().zip(read.as_mut()).filter(|_| shape == Shape::Symmetric) {
            if lower {
                read.matrix.mirror_lower();
            } else {
                asymmetry = Some(read.matrix.asymmetry(read.epsilon).map_err(|flaw| flaw.of(file))?);
            }
        }
        output.as_deref().map_or(Ok(()), output::require)?;
        let generated = || generate::positive_definite(n, seed.unwrap_or_default());
        let matrix = read.map_or_else(generated, |read| read.matrix);
        Ok((Self { n, tile, seed, input, lower, asymmetry, output }, matrix))
    }

    /// Every parameter after defaults. Files have no default, and are included only if given.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let seed = self.seed.map_or(Value::None, Value::Integer);
        let mut values =
            vec![("n", Value::Integer(self.n as u64)), ("tile", Value::Integer(self.tile as u64)), ("seed", seed)];
        let files = [("input", &self.input), ("output", &self.output)];
        values.extend(self.lower.then_some((LOWER.name, Value::Flag(true))));
        values.extend(files.into_iter().filter_map(|(name, file)| Some((name, Value::Path(file.clone()?)))));
        values
    }

    /// The matrix's name in messages.
    pub fn matrix_name(&self) -> String {
        match &self.input {
            Some(file) => file.display().to_string(),
            None => format!("the generated matrix of order {}", self.n),
        }
    }
}

/// Refuses parameters that conflict with an input.
fn exclusive(options: &Options, input: &Path, output: Option<&Path>) -> Result<(), Error> {
    for opt in [&N, &params::SEED] {
        if options.has(opt) {
            return Err(Error::Conflict { one: opt.name, other: INPUT.name, why: "the file has the matrix" });
        }
    }
    let real = |file: &Path| file.canonicalize().ok();
    if output.and_then(real).is_some_and(|output| real(input) == Some(output)) {
        return Err(Error::Conflict { one: OUTPUT.name, other: INPUT.name, why: "they are the same file" });
    }
    Ok(())
}
