//! The options that describe clusters, sites and their links.

use super::options::{MAX_PROCESSORS, in_range, parsed};
use crate::args::{integer, words};
use crate::failure::Failure;
use clap::{Arg, ArgMatches};
use millpond_sim::{Config, InputError, Link, Network, parse_network};

/// The default link between two clusters of a site, and between two sites. The paper gives neither.
/// The latencies are of the order of a metropolitan network and of one across a country.
const SITE_LINK: Link = Link { latency: 1e-3, bandwidth: 12.5e6 };
const GRID_LINK: Link = Link { latency: 1e-2, bandwidth: 12.5e6 };
/// What happens to the results of stolen tasks.
const RESULTS: &[&str] = &["sent", "free"];

/// The options.
pub fn args() -> [Arg; 5] {
    [
        Arg::new("clusters").long("clusters").value_name("FILE|SIZES").help(
            "Clusters, in place of --processors: 16+32 at one site, 16/32 at two, 9x158 at nine; or a file with lines \
             'cluster NAME SITE PROCESSORS [LATENCY BANDWIDTH]' and 'link ONE OTHER LATENCY BANDWIDTH'",
        ),
        parsed(
            "site-link",
            "SECONDS:BYTES",
            "Latency and bandwidth between clusters of a site [default: 1e-3:12.5e6]",
            link,
        ),
        parsed("grid-link", "SECONDS:BYTES", "Latency and bandwidth between sites [default: 1e-2:12.5e6]", link),
        integer(
            "local-tries",
            "N",
            0,
            1_000_000,
            format!(
                "Processors of its cluster that a thief asks before one elsewhere; 0: it prefers none [default: {}]",
                Network::LOCAL_TRIES
            ),
        ),
        words(
            "results",
            "HOW",
            RESULTS,
            "Whether results of stolen tasks are messages, or take no time [default: sent with --clusters, else free]",
        ),
    ]
}

/// A latency and a bandwidth.
fn link(text: &str) -> Result<Link, String> {
    let expected = || "expected SECONDS:BYTES, such as 1e-2:12.5e6".to_owned();
    let (latency, bandwidth) = text.split_once(':').ok_or_else(expected)?;
    let latency = in_range(latency, &Config::LATENCIES)?;
    Ok(Link { latency, bandwidth: in_range(bandwidth, &Config::BANDWIDTHS)? })
}

/// The network, if there is one.
pub fn network(matches: &ArgMatches) -> Result<Option<Network>, Failure> {
    let Some(text) = matches.get_one::<String>("clusters") else {
        let alone = ["site-link", "grid-link", "local-tries"].into_iter().find(|option| matches.contains_id(option));
        return alone.map_or(Ok(None), |option| Err(Failure::Usage(format!("--{option} needs --clusters"))));
    };
    if matches.contains_id("processors") {
        let says = "--clusters says how many processors there are: it cannot be used with --processors";
        return Err(Failure::Usage(says.to_owned()));
    }
    let of = |name: &str, default| matches.get_one::<Link>(name).copied().unwrap_or(default);
    let mut network = parse_network(text, of("site-link", SITE_LINK), of("grid-link", GRID_LINK))?;
    let processors = network.processors();
    if processors > MAX_PROCESSORS as usize {
        let says = format!("--clusters: {processors} processors are too many: at most {MAX_PROCESSORS}");
        return Err(Failure::Usage(says));
    }
    if let Some(&tries) = matches.get_one::<u64>("local-tries") {
        network.local_tries = tries;
    }
    Ok(Some(network))
}

/// Whether results are messages. By default they are if there is a network.
pub fn send_results(matches: &ArgMatches, has_network: bool) -> bool {
    matches.get_one::<String>("results").map_or(has_network, |results| results == RESULTS[0])
}

/// The name of a way of results.
pub fn name_of_results(send_results: bool) -> &'static str {
    RESULTS[usize::from(!send_results)]
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Sizes { .. } => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
