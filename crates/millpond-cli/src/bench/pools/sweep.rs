//! Parameters without values in the paper ([TP](crate#sources) §3.2 to §3.5, §4.3), and the
//! measured values.

use super::Request;
use super::cell::Cell;
use millpond::catalogue::MEMORY;
use millpond::pool::params::{Filling, LockKind, Params, Share};

/// A value of a parameter, on one pool with one number of workers.
pub struct Swept {
    pub parameter: &'static str,
    pub value: &'static str,
    pub cell: Cell,
    /// The index of the parameter's default value on the same pool.
    pub default: usize,
}

/// A parameter, its pools, and its values. The first value is the default.
struct Parameter {
    name: &'static str,
    pools: &'static [&'static str],
    values: &'static [(&'static str, fn(&mut Params))],
}

static PARAMETERS: [Parameter; 6] = [
    Parameter {
        name: "queues",
        pools: &["rq1", "rq2", "rq3"],
        values: &[
            ("4", |params| params.queues = 4),
            ("1", |params| params.queues = 1),
            ("2", |params| params.queues = 2),
            ("8", |params| params.queues = 8),
            ("16", |params| params.queues = 16),
        ],
    },
    Parameter {
        name: "threshold",
        pools: &["sdq1"],
        values: &[
            ("4", |params| params.threshold = 4),
            ("8", |params| params.threshold = 8),
            ("16", |params| params.threshold = 16),
            ("64", |params| params.threshold = 64),
        ],
    },
    Parameter {
        name: "filling",
        pools: &["dq8"],
        values: &[
            ("generous", |params| params.filling = Filling::Generous),
            ("greedy", |params| params.filling = Filling::Greedy),
        ],
    },
    Parameter {
        name: "share",
        pools: &["dq2", "dq4", "dq5", "dq6", "dq7", "dq8"],
        values: &[
            ("one", |params| params.share = Share::One),
            ("4", |params| params.share = Share::Constant(4)),
            ("half", |params| params.share = Share::Half),
            ("workers", |params| params.share = Share::Workers),
        ],
    },
    Parameter {
        name: "lock",
        pools: &["sq1", "sq2", "sq3", "sq4", "dq2", "dq5", "dq6", "dq7", "dq8", "sdq1", "rq2"],
        values: &[("system", |params| params.lock = LockKind::System), ("spin", |params| params.lock = LockKind::Spin)],
    },
    Parameter {
        name: "capacity",
        pools: &["sq2", "dq3", "dq7"],
        values: &[
            ("1024", |params| params.capacity = 1024),
            ("16", |params| params.capacity = 16),
            ("4", |params| params.capacity = 4),
        ],
    },
];

/// Every value of every parameter, on the chosen pools, with the default manager.
pub fn points(request: &Request) -> Vec<Swept> {
    let mut points = Vec::new();
    for &workers in &request.workers {
        for parameter in &PARAMETERS {
            for pool in parameter.pools.iter().filter(|pool| request.pools.contains(pool)) {
                let default = points.len();
                points.extend(parameter.values.iter().map(|(value, set)| {
                    let mut params = Params::default();
                    set(&mut params);
                    let cell = Cell::new(workers, pool, MEMORY[0].name, params);
                    let cell = cell.with_set(parameter.name, value).with_idle(request.idle);
                    Swept { parameter: parameter.name, value, cell, default }
                }));
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::run::named;
    use millpond::catalogue::{POOLS, Registry};
    use millpond_workloads::RunsOn;

    /// So that cachegrind runs the same parts.
    #[test]
    fn run_takes_the_options_of_each_point() {
        let registry = Registry::default();
        for Parameter { name, pools, values } in &PARAMETERS {
            for (pool, value) in pools.iter().flat_map(|pool| values.iter().map(move |(value, _)| (pool, value))) {
                let options = Cell::new(2, pool, "bs", Params::default()).with_set(name, value).options();
                let line = ["millpond", "run", "synthetic"].into_iter().chain(options.iter().map(String::as_str));
                let matches = crate::args::command(&registry).try_get_matches_from(line).expect("arguments");
                let (_, matches) = named(matches.subcommand_matches("run").expect("run")).expect("a workload");
                let config = Config::of(RunsOn::TaskPool, matches, &registry).expect("a pool with this parameter");
                let config = config.json();
                let given = config[format!("pool_{name}")].to_string();
                assert_eq!(given.trim_matches('"'), *value, "{options:?}");
                assert_eq!((&config["pool"], &config["memory"]), (&(*pool).into(), &"bs".into()), "{options:?}");
            }
        }
    }

    #[test]
    fn the_first_value_of_each_parameter_is_the_default_one() {
        for parameter in &PARAMETERS {
            let values = parameter.values.iter().map(|(_, set)| {
                let mut params = Params::default();
                set(&mut params);
                params
            });
            let default: Vec<_> = values.map(|params| params == Params::default()).collect();
            assert!(default[0] && !default[1..].contains(&true), "{}", parameter.name);
            assert!(parameter.pools.iter().all(|pool| POOLS.iter().any(|row| row.name == *pool)));
        }
    }
}
