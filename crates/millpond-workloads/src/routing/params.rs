use super::Topology;
use super::topology::least_links;
use crate::matrix::memory;
use crate::matrix::params::SEED;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections};
use millpond_cnc::{Limit, Settings};

/// As many routers as there may be: no way is longer than 32 bits say, and tags of their rounds are packed.
const MOST: u64 = 1 << 14;

const ROUTERS: Opt = Opt::integer("routers", "Routers of the network", (1, MOST), Some(200));
const FAILURES: Opt = Opt::integer(
    "failures",
    "Links that fail, one after the other [default: 10, or those of the ring if fewer]",
    (0, MOST),
    None,
);

/// The options of this workload.
pub const OPTIONS: [Opt; 7] = collections::options([ROUTERS, FAILURES, SEED]);

/// Of a router's round its own table and its links, which say what else it gets; of what comes after a round the first two
/// tables, of which mostly one has changed.
const NEED: Limit = Limit::First(2);

/// Bytes of a route.
const ROUTE: u64 = 8;

/// Bytes that the rounds of a router take in an epoch, beside its routes: mostly the places of items, which stay.
const ROUNDS: u64 = 8192;

/// What network, and how its routes are worked out.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// Routers.
    pub routers: u64,
    /// Links that fail.
    pub failures: u64,
    /// Of the network and of what fails.
    pub seed: u64,
    /// How the steps are run.
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

/// As many routers as the machine can hold the routes of: the last of each epoch, and those of three rounds.
fn most_routers(failures: u64) -> u64 {
    let Some(available) = memory::available() else { return MOST };
    let bytes = |routers: u64| routers * ((failures + 4) * routers * ROUTE + (failures + 1) * ROUNDS);
    (1..=MOST).rev().find(|&routers| bytes(routers) <= available).unwrap_or(0)
}
