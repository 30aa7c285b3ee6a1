use crate::Error;
use crate::cholesky::check_tile;
use crate::matrix::{MAX_N, default_tile, memory};
use crate::options::{Kind, Opt, Options, Value};

const N: Opt =
    Opt { name: "n", help: "Order of the matrices", kind: Kind::Integer { min: 1, max: MAX_N, default: Some(2000) } };
const TILE: Opt = Opt {
    name: "tile",
    help: "Order of a tile [default: 125, or n if smaller]",
    kind: Kind::Integer { min: 1, max: MAX_N, default: None },
};
const SEED: Opt =
    Opt { name: "seed", help: "Seed of the matrices", kind: Kind::Integer { min: 0, max: u64::MAX, default: Some(1) } };
const ORDER: Opt =
    Opt { name: "order", help: "The loops that spawn the tasks, outermost first", kind: Kind::Choice(&["ijk", "kij"]) };

/// The options of this workload.
pub const OPTIONS: &[Opt] = &[N, TILE, SEED, ORDER];

/// The order of the loops that spawn the tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// All updates of one tile, then those of the next: chains.
    Ijk,
    /// One update of each tile, then the next of each: layers of independent tasks.
    Kij,
}

impl Order {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ijk => "ijk",
            Self::Kij => "kij",
        }
    }
}

/// What is to be multiplied, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// The order of the matrices.
    pub n: usize,
    /// The order of a tile.
    pub tile: usize,
    /// The seed of the first matrix; the second has the next.
    pub seed: u64,
    /// The order of the loops.
    pub order: Order,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let (n, seed, tile) = (options.get(&N)?, options.get(&SEED)?, options.get_integer(&TILE)?);
        check_tile(tile, n)?;
        // Two factors and the product, each as a matrix and as tiles.
        memory::require("matmul", n * n * 8 * 6)?;
        let order = if options.get_choice(&ORDER) == "kij" { Order::Kij } else { Order::Ijk };
        let tile = tile.map_or(default_tile(n as usize), |t| t as usize);
        Ok(Self { n: n as usize, tile, seed, order })
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("n", Value::Integer(self.n as u64)),
            ("tile", Value::Integer(self.tile as u64)),
            ("seed", Value::Integer(self.seed)),
            ("order", Value::Text(self.order.name().to_owned())),
        ]
    }
}
