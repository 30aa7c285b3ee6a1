//! The sources of networks: sizes of clusters, or a file.
//!
//! ```text
//! # cluster  name  site    processors  latency  bandwidth
//! cluster    azur  sophia  72          1e-4     125e6
//! cluster    sol   sophia  50
//! cluster    gdx   orsay   216
//! # link     between       latency  bandwidth
//! link       sophia sophia 2e-4     125e6      between the clusters of a site
//! link       sophia orsay  1.8e-2   1.25e8     between two sites
//! link       azur   gdx    1.7e-2   1.25e8     between two clusters
//! ```
//!
//! Without latency and bandwidth, a cluster has those of the machine. The text after the last
//! field, or after a `#`, is a comment.

use std::path::Path;

use crate::config::{Config, Error};
use crate::input::{InputError, text_of, wrong};
use crate::network::{Cluster, Link, Network};

/// The maximum number of processors.
const MAX_PROCESSORS: usize = 1_000_000;

/// The form of sizes.
const SIZES: &str = "a file, or the processors of each cluster: 16+32 at one site, 16/32 at two, 9x158 at nine sites";

/// Makes a network from sizes or from a file. `of_sites` connects two clusters of a site, and
/// `of_grid` two sites, unless the file says otherwise.
///
/// - `16+32`: two clusters at one site.
/// - `16/32`: two sites.
/// - `9x158`: nine sites alike. `2x16+32`: two sites, each with both clusters.
/// - Any other text is the path of a file.
///
/// ```
/// use millpond_sim::{Link, parse_network};
///
/// let link = Link { latency: 1e-3, bandwidth: 12.5e6 };
/// let network = parse_network("2x16+32/5", link, link)?;
/// let clusters: Vec<_> = network.clusters().iter().map(|cluster| (&*cluster.site, cluster.processors)).collect();
/// assert_eq!(clusters, [("1", 16), ("1", 32), ("2", 16), ("2", 32), ("3", 5)]);
/// # Ok::<(), millpond_sim::InputError>(())
/// ```
///
/// # Errors
///
/// If a number or a name is invalid, or the file cannot be read.
pub fn parse_network(text: &str, of_sites: Link, of_grid: Link) -> Result<Network, InputError> {
    let network = Network::new(of_sites, of_grid);
    if !text.is_empty() && text.bytes().all(|byte| b"0123456789x+/".contains(&byte)) {
        let sizes = || InputError::Sizes { text: text.to_owned(), expected: SIZES.to_owned() };
        return from_sizes(text, network).ok_or_else(sizes);
    }
    from_file(Path::new(text), network)
}

fn from_sizes(text: &str, mut network: Network) -> Option<Network> {
    let mut site = 0;
    for part in text.split('/') {
        let (times, sizes) = part.split_once('x').unwrap_or(("1", part));
        let sizes: Vec<usize> = sizes.split('+').map(|size| size.parse().ok()).collect::<Option<_>>()?;
        let times = times.parse().ok().filter(|times| (1..=Network::MAX_CLUSTERS).contains(times))?;
        for _ in 0..times {
            site += 1;
            for (number, &processors) in (1..).zip(&sizes) {
                let name = format!("{site}.{number}");
                add(&mut network, Cluster { name, site: site.to_string(), processors, link: None }).ok()?;
            }
        }
    }
    Some(network)
}

/// Adds a cluster, unless the network would have too many processors.
fn add(network: &mut Network, cluster: Cluster) -> Result<(), String> {
    if cluster.processors > MAX_PROCESSORS - network.processors().min(MAX_PROCESSORS) {
        return Err(format!("there are more than {MAX_PROCESSORS} processors"));
    }
    network.add(cluster).map_err(|error| error.to_string())
}

fn from_file(file: &Path, mut network: Network) -> Result<Network, InputError> {
    let read = text_of(file)?;
    let mut last = 1;
    for (line, text) in (1..).zip(read.lines()) {
        last = line;
        let text = text.split('#').next().unwrap_or_default();
        let fields: Vec<&str> = text.split_whitespace().collect();
        let added = match fields[..] {
            [] => Ok(()),
            ["cluster", ..] => cluster(&fields).and_then(|cluster| add(&mut network, cluster)),
            ["link", ..] => connect(&fields, &mut network),
            [first, ..] => Err(format!("'{first}' is neither 'cluster' nor 'link'")),
        };
        added.map_err(|says| wrong(file, line, says))?;
    }
    if network.clusters().is_empty() {
        let says = "it has no line 'cluster NAME SITE PROCESSORS [LATENCY BANDWIDTH]'";
        return Err(wrong(file, last, says.to_owned()));
    }
    Ok(network)
}

/// The cluster of a line. Its link may be missing.
fn cluster(fields: &[&str]) -> Result<Cluster, String> {
    let [_, name, site, processors, link @ ..] = fields else {
        return Err("expected 'cluster NAME SITE PROCESSORS [LATENCY BANDWIDTH]'".to_owned());
    };
    let count = processors.parse().ok().filter(|count| (1..=MAX_PROCESSORS).contains(count));
    let processors = count.ok_or(format!("processors '{processors}' is not a number from 1 to {MAX_PROCESSORS}"))?;
    let link = match link {
        [] => None,
        [latency, bandwidth, ..] => Some(self::link(latency, bandwidth)?),
        [_] => return Err("a latency without a bandwidth".to_owned()),
    };
    Ok(Cluster { name: (*name).to_owned(), site: (*site).to_owned(), processors, link })
}

fn connect(fields: &[&str], network: &mut Network) -> Result<(), String> {
    let [_, one, other, latency, bandwidth, ..] = fields else {
        return Err("expected 'link ONE OTHER LATENCY BANDWIDTH'".to_owned());
    };
    network.connect(one, other, link(latency, bandwidth)?).map_err(|error: Error| error.to_string())
}

/// A latency and a bandwidth.
fn link(latency: &str, bandwidth: &str) -> Result<Link, String> {
    let of = |text: &str| text.parse::<f64>().ok();
    let seconds = of(latency).filter(|seconds| Config::LATENCIES.contains(seconds));
    let bytes = of(bandwidth).filter(|bytes| Config::BANDWIDTHS.contains(bytes));
    let seconds = seconds.ok_or(format!("latency '{latency}' is not a time from 1e-9 to 1e6 s"))?;
    let bytes = bytes.ok_or(format!("bandwidth '{bandwidth}' is not bytes per second from 1e3 to 1e18"))?;
    Ok(Link { latency: seconds, bandwidth: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link { latency: 1e-3, bandwidth: 1e7 };

    fn refused(text: &str) -> String {
        parse_network(text, LINK, LINK).unwrap_err().to_string()
    }

    #[test]
    fn sizes_that_are_none() {
        for text in ["0", "16+", "/16", "x16", "3x", "16+0", "1001x1", "1x1x1", "99999999999999999999", "2000000"] {
            assert_eq!(refused(text), format!("clusters '{text}': expected {SIZES}"));
        }
        assert_eq!(parse_network("9x158", LINK, LINK).unwrap().processors(), 1422);
    }

    #[test]
    fn files_say_what_is_wrong_and_where() {
        let file = std::env::temp_dir().join(format!("millpond-sim-clusters-{}", std::process::id()));
        let path = file.to_str().unwrap().to_owned();
        let refused = |content: &str| {
            std::fs::write(&file, content).unwrap();
            let says = refused(&path);
            says.strip_prefix(&path).unwrap_or(&says).to_owned()
        };
        let a = "cluster a s 3\n";
        assert_eq!(refused("cluster a s\n"), ":1: expected 'cluster NAME SITE PROCESSORS [LATENCY BANDWIDTH]'");
        assert_eq!(refused("cluster a s 0\n"), ":1: processors '0' is not a number from 1 to 1000000");
        assert_eq!(refused("\ncluster a s 1 1e-3\n"), ":2: a latency without a bandwidth");
        assert_eq!(refused("cluster a s 1 0 1e6\n"), ":1: latency '0' is not a time from 1e-9 to 1e6 s");
        assert_eq!(refused(&format!("{a}{a}")), ":2: 'a' is the name of another cluster or site");
        assert_eq!(refused(&format!("{a}cluster b s 1000000")), ":2: there are more than 1000000 processors");
        assert_eq!(refused(&format!("{a}link a b 1 1e6")), ":2: 'b' is neither a cluster nor a site");
        assert_eq!(refused(&format!("{a}link s s 1")), ":2: expected 'link ONE OTHER LATENCY BANDWIDTH'");
        let says = ":2: bandwidth 'NaN' is not bytes per second from 1e3 to 1e18";
        assert_eq!(refused(&format!("{a}link s s 1 NaN")), says);
        assert_eq!(refused("# none\nrack a\n"), ":2: 'rack' is neither 'cluster' nor 'link'");
        let says = ":2: it has no line 'cluster NAME SITE PROCESSORS [LATENCY BANDWIDTH]'";
        assert_eq!(refused("# none\n\n"), says);
        std::fs::write(&file, format!("{a}cluster b t 2 1e-6 1e9 fast\nlink s t 0.5 1e6 # far\n")).unwrap();
        let network = parse_network(&path, LINK, LINK).unwrap();
        let latencies = [(0, 0), (0, 1), (1, 1)].map(|(one, other)| network.link(one, other, LINK).latency);
        assert_eq!(latencies, [1e-3, 0.5, 1e-6]);
        std::fs::remove_file(&file).unwrap();
        let says = "/no/such: cannot read it: No such file or directory (os error 2)";
        assert_eq!(self::refused("/no/such"), says);
    }
}
