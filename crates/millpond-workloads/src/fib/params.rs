use crate::Error;
use crate::options::{Kind, Opt, Options, Value};

/// The greatest index whose Fibonacci number fits 64 bits.
const MAX_N: u64 = 93;

const N: Opt = Opt {
    name: "n",
    help: "Index of the Fibonacci number",
    kind: Kind::Integer { min: 0, max: MAX_N, default: Some(27) },
};
const CUTOFF: Opt = Opt {
    name: "cutoff",
    help: "Compute numbers up to this index without tasks",
    kind: Kind::Integer { min: 0, max: MAX_N, default: Some(0) },
};

/// The options of this workload.
pub const OPTIONS: &[Opt] = &[N, CUTOFF];

/// Which number, and where tasks end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// The index of the number.
    pub n: u64,
    /// Indices up to this are computed without tasks.
    pub cutoff: u64,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        Ok(Self { n: options.get(&N)?, cutoff: options.get(&CUTOFF)? })
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        vec![("n", Value::Integer(self.n)), ("cutoff", Value::Integer(self.cutoff))]
    }

    /// Whether number `n` is computed without tasks.
    pub fn is_leaf(&self, n: u64) -> bool {
        n < 2 || n <= self.cutoff
    }
}
