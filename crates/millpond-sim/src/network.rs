//! The network of a machine: clusters in sites, and the links between their processors. The paper's
//! grid is such a machine ([DDS](crate#sources) §5).

use std::ops::Range;

use serde::Serialize;

use crate::config::{Config, Error, require};

/// The path between two processors. Any number of messages can use it at once, each with the full
/// bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Seconds from a request to its answer; see [`Config::LATENCIES`]. A message takes half of
    /// them.
    pub latency: f64,
    /// Bytes per second for stolen closures and results; see [`Config::BANDWIDTHS`].
    pub bandwidth: f64,
}

impl Link {
    /// When a message of this number of bytes arrives that leaves now.
    pub(crate) fn arrival(self, now: f64, bytes: u64) -> f64 {
        now + self.latency / 2.0 + bytes as f64 / self.bandwidth
    }

    pub(crate) fn check(self) -> Result<(), Error> {
        let Link { latency, bandwidth } = self;
        require("latency", latency, Config::LATENCIES.contains(&latency), "a time from 1e-9 to 1e6 s")?;
        require("bandwidth", bandwidth, Config::BANDWIDTHS.contains(&bandwidth), "bytes per second from 1e3 to 1e18")
    }
}

/// A cluster of processors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// Its name, different from those of all other clusters and sites.
    pub name: String,
    /// The site where it is. Several clusters may be at one site.
    pub site: String,
    /// The number of its processors.
    pub processors: usize,
    /// The link between two of them; `None`: that of the [`Config`].
    pub link: Option<Link>,
}

/// Clusters, and the links between them. Processors are numbered cluster by cluster, from 0.
///
/// ```
/// use millpond_sim::{Cluster, Config, Costs, Link, Network, programs::Fib, simulate};
///
/// let (near, far) = (Link { latency: 1e-3, bandwidth: 12.5e6 }, Link { latency: 1e-2, bandwidth: 12.5e6 });
/// let mut network = Network::new(near, far);
/// for (name, site) in [("azur", "sophia"), ("gdx", "orsay")] {
///     network.add(Cluster { name: name.to_owned(), site: site.to_owned(), processors: 8, link: None })?;
/// }
/// let config = Config { network: Some(network), send_results: true, ..Config::of(16) };
/// let outcome = simulate(&Fib::new(30, 10, 1_000_000, Costs::PAPER), &config)?;
/// assert!(outcome.remote_steals > 0 && outcome.remote_steals < outcome.local_steals);
/// assert_eq!(outcome.clusters.len(), 2);
/// # Ok::<(), millpond_sim::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    clusters: Vec<Cluster>,
    /// The link between two clusters of a site, and between two sites.
    defaults: [Link; 2],
    /// Other links, between clusters or sites. The last one counts.
    others: Vec<(String, String, Link)>,
    /// How many processors of its own cluster a thief asks before it asks one of another cluster.
    /// They are drawn at random. With 0 a thief does not prefer its cluster: each victim is any
    /// other processor, with the same probability.
    pub local_tries: u64,
}

impl Network {
    /// The maximum number of clusters.
    pub const MAX_CLUSTERS: usize = 1000;
    /// The default of [`Network::local_tries`]. With more, thieves of a large cluster ask one
    /// another for too long when the cluster has no work left.
    pub const LOCAL_TRIES: u64 = 10;

    /// A network without clusters. `of_sites` connects two clusters of a site, and `of_grid` two
    /// sites.
    pub fn new(of_sites: Link, of_grid: Link) -> Self {
        let (clusters, others) = (Vec::new(), Vec::new());
        Network { clusters, defaults: [of_sites, of_grid], others, local_tries: Self::LOCAL_TRIES }
    }

    /// Adds a cluster.
    ///
    /// # Errors
    ///
    /// - The cluster has no processors, or the network has [`Network::MAX_CLUSTERS`] clusters.
    /// - A cluster or site has its name, or a cluster has the name of its site.
    /// - Its site is that of an earlier cluster, but not of the last.
    /// - A number of its link is out of range.
    pub fn add(&mut self, cluster: Cluster) -> Result<(), Error> {
        let refuse = |name: &str, why| Err(Error::Network { name: name.to_owned(), why });
        let Cluster { name, site, processors, link } = &cluster;
        if *processors == 0 {
            return refuse(name, "has no processors");
        }
        if self.clusters.len() == Self::MAX_CLUSTERS {
            return refuse(name, "is one cluster too many: there are at most 1000");
        }
        if name == site || self.clusters.iter().any(|other| other.name == *name || other.site == *name) {
            return refuse(name, "is the name of another cluster or site");
        }
        if self.clusters.iter().any(|other| other.name == *site) {
            return refuse(site, "is the name of a cluster");
        }
        let is_of_last = self.clusters.last().is_some_and(|last| last.site == *site);
        if !is_of_last && self.has_site(site) {
            return refuse(
                site,
                "has clusters before those of another site: the clusters of a site must be in sequence",
            );
        }
        link.map_or(Ok(()), Link::check)?;
        self.clusters.push(cluster);
        Ok(())
    }

    /// Sets the link between two clusters, between two sites, or, if both names are the same,
    /// between the clusters of a site. A link between clusters counts before one between sites.
    ///
    /// # Errors
    ///
    /// - The names are not both those of clusters, or both those of sites.
    /// - They are the same cluster, whose link is in its [`Cluster`].
    /// - A number of the link is out of range.
    pub fn connect(&mut self, one: &str, other: &str, link: Link) -> Result<(), Error> {
        let refuse = |name: &str, why| Err(Error::Network { name: name.to_owned(), why });
        for name in [one, other] {
            if !self.has_site(name) && !self.has_cluster(name) {
                return refuse(name, "is neither a cluster nor a site");
            }
        }
        if self.has_site(one) != self.has_site(other) {
            return refuse(other, "is not of the same kind: a link is between two clusters or between two sites");
        }
        if one == other && self.has_cluster(one) {
            return refuse(one, "is one cluster: its own link belongs to the cluster");
        }
        link.check()?;
        self.others.push((one.to_owned(), other.to_owned(), link));
        Ok(())
    }

    /// The clusters, in the order of their processors.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The number of all processors.
    pub fn processors(&self) -> usize {
        self.clusters.iter().map(|cluster| cluster.processors).sum()
    }

    fn has_site(&self, name: &str) -> bool {
        self.clusters.iter().any(|cluster| cluster.site == name)
    }

    fn has_cluster(&self, name: &str) -> bool {
        self.clusters.iter().any(|cluster| cluster.name == name)
    }

    /// The link between processors of two clusters. `own`: within a cluster without a link.
    pub fn link(&self, one: usize, other: usize, own: Link) -> Link {
        let (one, other) = (&self.clusters[one], &self.clusters[other]);
        if one.name == other.name {
            return one.link.unwrap_or(own);
        }
        let between = |a: &str, b: &str| {
            let is = |link: &&(String, String, Link)| (link.0 == a && link.1 == b) || (link.0 == b && link.1 == a);
            self.others.iter().rev().find(is).map(|link| link.2)
        };
        between(&one.name, &other.name)
            .or_else(|| between(&one.site, &other.site))
            .unwrap_or(self.defaults[usize::from(one.site != other.site)])
    }
}

/// How far a victim is from its thief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    Cluster,
    Site,
    Grid,
}

/// A network in the form that the machine needs.
#[derive(Debug)]
pub(crate) struct Topology {
    /// The cluster of each processor.
    cluster_of: Vec<u32>,
    /// By cluster: its processors, and those of its site.
    places: Vec<(Range<usize>, Range<usize>)>,
    /// By pair of clusters.
    links: Vec<Link>,
    local_tries: u64,
}

impl Topology {
    /// All processors are one cluster if the machine has no network.
    pub(crate) fn of(config: &Config) -> Topology {
        let own = Link { latency: config.latency, bandwidth: config.bandwidth };
        let all = 0..config.speeds.len();
        let Some(network) = &config.network else {
            let cluster_of = vec![0; all.len()];
            return Topology { cluster_of, places: vec![(all.clone(), all)], links: vec![own], local_tries: 0 };
        };
        let clusters = network.clusters();
        let (mut places, mut cluster_of): (Vec<(Range<usize>, Range<usize>)>, _) = (Vec::new(), Vec::new());
        for (number, cluster) in (0..).zip(clusters) {
            let begin = cluster_of.len();
            cluster_of.resize(begin + cluster.processors, number);
            places.push((begin..cluster_of.len(), 0..0));
        }
        for cluster in 0..clusters.len() {
            let same = |other: &usize| clusters[*other].site == clusters[cluster].site;
            let of_site: Vec<_> = (0..clusters.len()).filter(same).collect();
            let (first, last) = (of_site[0], of_site[of_site.len() - 1]);
            places[cluster].1 = places[first].0.start..places[last].0.end;
        }
        let pairs = (0..clusters.len()).flat_map(|one| (0..clusters.len()).map(move |other| (one, other)));
        let links = pairs.map(|(one, other)| network.link(one, other, own)).collect();
        Topology { cluster_of, places, links, local_tries: network.local_tries }
    }

    pub(crate) fn clusters(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn cluster_of(&self, processor: usize) -> usize {
        self.cluster_of[processor] as usize
    }

    pub(crate) fn link(&self, one: usize, other: usize) -> Link {
        self.links[self.cluster_of(one) * self.clusters() + self.cluster_of(other)]
    }

    /// The shortest latency of any link.
    pub(crate) fn least_latency(&self) -> f64 {
        self.links.iter().map(|link| link.latency).fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn distance(&self, one: usize, other: usize) -> Distance {
        let (one, other) = (self.cluster_of(one), self.cluster_of(other));
        if one == other {
            Distance::Cluster
        } else if self.places[one].1 == self.places[other].1 {
            Distance::Site
        } else {
            Distance::Grid
        }
    }

    /// The processors among which a thief draws its next victim: the first range without the
    /// second. `tries` is the number of its requests since it last worked. A thief asks
    /// [`Network::local_tries`] processors of its cluster, then one of another cluster of its site,
    /// then one of another site, and so on ([DDS](crate#sources) §3: first locally, then a distant
    /// processor).
    pub(crate) fn candidates(&self, thief: usize, tries: u64) -> (Range<usize>, Range<usize>) {
        let (itself, all) = (thief..thief + 1, 0..self.cluster_of.len());
        let (cluster, site) = self.places[self.cluster_of(thief)].clone();
        if cluster == all || self.local_tries == 0 {
            return (all, itself);
        }
        let local = if cluster.len() == 1 { 0 } else { self.local_tries };
        let (near, far) = (u64::from(site != cluster), u64::from(site != all));
        let turn = tries % local.saturating_add(near + far);
        if turn < local {
            (cluster, itself)
        } else if turn - local < near {
            (site, cluster)
        } else {
            (all, site)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Link = Link { latency: 1e-4, bandwidth: 1e7 };
    const NEAR: Link = Link { latency: 1e-3, bandwidth: 1e7 };
    const FAR: Link = Link { latency: 1e-2, bandwidth: 1e7 };

    fn network(clusters: &[(&str, &str, usize)]) -> Network {
        let mut network = Network::new(NEAR, FAR);
        for &(name, site, processors) in clusters {
            network.add(Cluster { name: name.to_owned(), site: site.to_owned(), processors, link: None }).unwrap();
        }
        network
    }

    fn topology(network: Network) -> Topology {
        Topology::of(&Config { network: Some(network.clone()), ..Config::of(network.processors()) })
    }

    #[test]
    fn a_thief_asks_its_cluster_then_its_site_then_the_grid() {
        let mut network = network(&[("a", "s", 3), ("b", "s", 2), ("c", "t", 4), ("d", "u", 1)]);
        network.local_tries = 2;
        let topology = topology(network);
        let rounds = |thief, count| (0..count).map(|tries| topology.candidates(thief, tries)).collect::<Vec<_>>();
        assert_eq!(rounds(1, 5), [(0..3, 1..2), (0..3, 1..2), (0..5, 0..3), (0..10, 0..5), (0..3, 1..2)]);
        // No other cluster at its site.
        assert_eq!(rounds(5, 4), [(5..9, 5..6), (5..9, 5..6), (0..10, 5..9), (5..9, 5..6)]);
        // Alone in its cluster and at its site.
        assert_eq!(rounds(9, 2), [(0..10, 9..10), (0..10, 9..10)]);
    }

    #[test]
    fn a_thief_need_not_prefer_its_cluster() {
        let mut network = network(&[("a", "s", 3), ("b", "t", 2)]);
        let often = topology(network.clone());
        assert_eq!((0..11).filter(|&tries| often.candidates(0, tries).0 == (0..3)).count(), 10);
        network.local_tries = 0;
        assert_eq!(topology(network).candidates(0, 7), (0..5, 0..1));
    }

    #[test]
    fn the_most_specific_link_counts() {
        let mut network = network(&[("a", "s", 3), ("b", "s", 2), ("c", "t", 4), ("d", "t", 1)]);
        let of = |seconds: f64| Link { latency: seconds, bandwidth: 1e9 };
        let latency = |network: &Network, one, other| network.link(one, other, OWN).latency;
        assert_eq!([(0, 0), (0, 1), (0, 2)].map(|(a, b)| latency(&network, a, b)), [1e-4, 1e-3, 1e-2]);
        network.connect("s", "t", of(0.5)).unwrap();
        network.connect("c", "a", of(0.25)).unwrap();
        network.connect("s", "s", of(0.125)).unwrap();
        let pairs = [(0, 1), (0, 2), (2, 0), (1, 2), (3, 0), (2, 3)];
        assert_eq!(pairs.map(|(a, b)| latency(&network, a, b)), [0.125, 0.25, 0.25, 0.5, 0.5, 1e-3]);
        // Processors 0, 3 and 8 are in the clusters a, b and c.
        let topology = topology(network);
        assert_eq!([(0, 1), (0, 3), (8, 0)].map(|(a, b)| topology.link(a, b).latency), [1e-4, 0.125, 0.25]);
        let distances = [(0, 1), (0, 3), (8, 0)].map(|(a, b)| topology.distance(a, b));
        assert_eq!(distances, [Distance::Cluster, Distance::Site, Distance::Grid]);
        assert_eq!(topology.least_latency(), 1e-4);
    }

    #[test]
    fn names_that_do_not_fit() {
        let mut network = network(&[("a", "s", 3), ("b", "t", 2)]);
        let mut refused = |name: &str, site: &str, processors| {
            let cluster = Cluster { name: name.to_owned(), site: site.to_owned(), processors, link: None };
            network.add(cluster).unwrap_err().to_string()
        };
        assert_eq!(refused("c", "t", 0), "'c' has no processors");
        assert_eq!(refused("a", "t", 1), "'a' is the name of another cluster or site");
        assert_eq!(refused("t", "t", 1), "'t' is the name of another cluster or site");
        assert_eq!(refused("c", "a", 1), "'a' is the name of a cluster");
        let says = "'s' has clusters before those of another site: the clusters of a site must be in sequence";
        assert_eq!(refused("c", "s", 1), says);
        let mut refused = |one, other, link| network.connect(one, other, link).unwrap_err().to_string();
        assert_eq!(refused("a", "x", FAR), "'x' is neither a cluster nor a site");
        assert_eq!(refused("a", "a", FAR), "'a' is one cluster: its own link belongs to the cluster");
        let says = "'t' is not of the same kind: a link is between two clusters or between two sites";
        assert_eq!(refused("a", "t", FAR), says);
        assert_eq!(refused("a", "b", Link { latency: 0.0, ..FAR }), "latency: 0 is not a time from 1e-9 to 1e6 s");
    }
}
