use crate::Error;
use crate::matrix::memory::Needs;
use crate::matrix::params;
use crate::options::{Kind, Opt, Options, Value};

const N: Opt = params::order("Order of the matrices");
const ORDER: Opt =
    Opt { name: "order", help: "The loops that spawn the tasks, outermost first", kind: Kind::Choice(&["ijk", "kij"]) };

/// The options of this workload.
pub const OPTIONS: &[Opt] = &[N, params::TILE, params::SEED, ORDER];

/// Two factors and the product, each as a matrix and as tiles.
const NEEDS: Needs = Needs { bytes_per_entry: 8 * 6, tiled_halves: 6, tasks: |_| 0 };

/// The order of the spawning loops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// All updates of one tile, then of the next: chains.
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

/// The parameters of the product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// The order of the matrices.
    pub n: usize,
    /// The order of a tile.
    pub tile: usize,
    /// The seed of the first matrix. The second has the next seed.
    pub seed: u64,
    /// The order of the loops.
    pub order: Order,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let (n, seed) = (options.get(&N)?, options.get(&params::SEED)?);
        NEEDS.require_order(n)?;
        let n = n as usize;
        let tile = params::tile(options, n, NEEDS)?;
        let order = if options.get_choice(&ORDER) == "kij" { Order::Kij } else { Order::Ijk };
        Ok(Self { n, tile, seed, order })
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
