use crate::Error;
use crate::options::{Kind, Opt, Options, Value};

/// The greatest board whose answer is in the table of known ones.
const MAX_N: u64 = 18;

const N: Opt = Opt {
    name: "n",
    help: "Rows and columns of the board",
    kind: Kind::Integer { min: 1, max: MAX_N, default: Some(11) },
};
const CUTOFF: Opt = Opt {
    name: "cutoff",
    help: "Fill the last rows, up to this many, without tasks",
    kind: Kind::Integer { min: 0, max: MAX_N, default: Some(0) },
};

/// The options of this workload.
pub const OPTIONS: &[Opt] = &[N, CUTOFF];

/// Which board, and where tasks end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Rows and columns of the board.
    pub n: u32,
    /// With this many rows left or fewer, the board is filled without tasks.
    pub cutoff: u32,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        Ok(Self { n: options.get(&N)? as u32, cutoff: options.get(&CUTOFF)? as u32 })
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        vec![("n", Value::Integer(self.n.into())), ("cutoff", Value::Integer(self.cutoff.into()))]
    }
}
