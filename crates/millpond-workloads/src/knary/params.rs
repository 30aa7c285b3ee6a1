use super::nodes;
use crate::Error;
use crate::form::TASKS;
use crate::options::{Opt, Options, Value};
use serde::{Deserialize, Serialize};

/// The maximum depth of a tree with two children per node whose nodes fit 64 bits.
const MAX_N: u64 = 64;

/// The maximum number of children: the nodes of four such levels fit 64 bits.
const MAX_K: u64 = 1_000_000;

const N: Opt = Opt::integer("n", "Levels of the tree", (1, MAX_N), Some(10));
const K: Opt = Opt::integer("k", "Children of a node", (1, MAX_K), Some(5));
const R: Opt = Opt::integer(
    "r",
    "The first R children of a node run one after the other, then the rest in parallel [default: 2, or k if smaller]",
    (0, MAX_K),
    None,
);
const CUTOFF: Opt =
    Opt::integer("cutoff", "Visit subtrees of this many levels without further tasks", (0, MAX_N), Some(0));

/// The options of this workload.
pub const OPTIONS: [Opt; 5] = [N, K, R, CUTOFF, TASKS];

/// The tree, and the cutoff of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// The levels of the tree.
    pub n: u64,
    /// The children of an inner node.
    pub k: u64,
    /// The number of first children that run one after the other.
    pub r: u64,
    /// Subtrees of up to this many levels are visited without further tasks.
    pub cutoff: u64,
}

impl Params {
    /// Checks the options.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let (n, k, cutoff) = (options.get(&N)?, options.get(&K)?, options.get(&CUTOFF)?);
        if nodes(n, k).is_none() {
            let max = (1..n).rev().find(|&n| nodes(n, k).is_some()).unwrap_or(1);
            let why = " (with so many children, for the nodes to be counted)";
            return Err(Error::Range { option: N.name, value: n, min: 1, max, why });
        }
        let r = options.get_integer(&R)?.unwrap_or(k.min(2));
        if r > k {
            return Err(Error::Range { option: R.name, value: r, min: 0, max: k, why: " (the children of a node)" });
        }
        Ok(Self { n, k, r, cutoff })
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let Self { n, k, r, cutoff } = *self;
        [("n", n), ("k", k), ("r", r), ("cutoff", cutoff)].map(|(name, value)| (name, Value::Integer(value))).to_vec()
    }
}
