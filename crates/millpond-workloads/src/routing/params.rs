use super::Topology;
use super::topology::least_links;
use crate::matrix::memory;
use crate::matrix::params::SEED;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections};
use millpond_cnc::{Limit, Settings};

/// The maximum number of routers: path lengths then fit 32 bits, and tags of rounds can be packed.
const MAX_ROUTERS: u64 = 1 << 14;

const ROUTERS: Opt = Opt::integer("routers", "Routers of the network", (1, MAX_ROUTERS), Some(200));
const FAILURES: Opt = Opt::integer(
    "failures",
    "Links that fail, one after the other [default: 10, or those of the ring if fewer]",
    (0, MAX_ROUTERS),
    None,
);

/// The options of this workload.
pub const OPTIONS: [Opt; 7] = collections::options([ROUTERS, FAILURES, SEED]);

/// The number of preconditions. A router's round needs its table and its links, which name the
/// other tables. The step after a round needs the first two tables, because usually one of them has
/// changed.
const NEED: Limit = Limit::First(2);

/// Bytes of a route.
const ROUTE: u64 = 8;

/// The bytes of a router's rounds in an epoch, in addition to its routes. Most of them are item
/// slots, which stay.
const ROUNDS: u64 = 8192;

/// The parameters of the network and its program.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// The number of routers.
    pub routers: u64,
    /// The number of failing links.
    pub failures: u64,
    /// The seed of the network and its failures.
    pub seed: u64,
    /// The settings of the steps.
    pub settings: Settings,
}

impl Params {
    /// Checks the options; generates the network.
    pub fn load(options: &Options) -> Result<(Self, Topology), Error> {
        let settings = collections::settings(options, NEED)?;
        let (routers, seed) = (options.get(&ROUTERS)?, options.get(&SEED)?);
        let links = least_links(routers);
        let failures = match options.get_integer(&FAILURES)? {
            Some(value) if value > links => {
                let why = " (as many links as the ring of routers has)";
                return Err(Error::Range { option: FAILURES.name, value, min: 0, max: links, why });
            }
            given => given.unwrap_or(links.min(10)),
        };
        let max = most_routers(failures);
        if routers > max {
            let why = " (with the memory available)";
            return Err(Error::Range { option: ROUTERS.name, value: routers, min: 1, max, why });
        }
        let topology = Topology::generate(routers as u32, failures as usize, seed);
        Ok((Self { routers, failures, seed, settings }, topology))
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("routers", Value::Integer(self.routers)),
            ("failures", Value::Integer(self.failures)),
            ("seed", Value::Integer(self.seed)),
            collections::need(self.settings),
        ]
    }
}

/// The maximum number of routers for the machine's memory. The memory holds the last routes of each
/// epoch, and the routes of three rounds.
fn most_routers(failures: u64) -> u64 {
    let Some(available) = memory::available() else { return MAX_ROUTERS };
    let bytes = |routers: u64| routers * ((failures + 4) * routers * ROUTE + (failures + 1) * ROUNDS);
    (1..=MAX_ROUTERS).rev().find(|&routers| bytes(routers) <= available).unwrap_or(0)
}
