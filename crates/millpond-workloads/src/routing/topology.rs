//! The network: routers in a ring, with chords. Also the order in which links fail.

use crate::matrix::generate::mix;
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum length of a link.
const MAX_LINK_LENGTH: u64 = 1000;

/// A link of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// The router at its other end.
    pub to: u32,
    /// Its length, which is not 0.
    pub length: u32,
}

/// The links of a router.
pub type Links = Arc<[Link]>;

/// The links of all routers in all epochs. Each epoch has one failure more than the previous one.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// By epoch and router. A router that has not lost a link shares its links with the previous
    /// epoch.
    links: Vec<Vec<Links>>,
}

impl Topology {
    /// A connected network: `routers` in a ring, and about as many chords between any two. The
    /// lengths and the failing links are drawn at random. Failures may divide the network.
    pub fn generate(routers: u32, failures: usize, seed: u64) -> Self {
        let mut drawn = (0..).map(|nth: u64| mix(mix(seed) ^ nth));
        let mut below = |bound: u64| drawn.next().expect("they do not end") % bound;
        let mut ends: Vec<(u32, u32)> = ring(routers);
        let mut there: HashSet<_> = ends.iter().copied().collect();
        for _ in 0..routers {
            let [a, b] = [(); 2].map(|()| below(routers.into()) as u32);
            if a != b && there.insert((a.min(b), a.max(b))) {
                ends.push((a.min(b), a.max(b)));
            }
        }
        let mut links = vec![Vec::new(); routers as usize];
        for &(a, b) in &ends {
            let length = 1 + below(MAX_LINK_LENGTH) as u32;
            links[a as usize].push(Link { to: b, length });
            links[b as usize].push(Link { to: a, length });
        }
        let mut topology = Self { links: vec![links.into_iter().map(Links::from).collect()] };
        for _ in 0..failures.min(ends.len()) {
            let (a, b) = ends.swap_remove(below(ends.len() as u64) as usize);
            topology.fail(a, b);
        }
        topology
    }

    /// Adds an epoch without this link.
    fn fail(&mut self, a: u32, b: u32) {
        let mut links = self.links.last().expect("there is a first epoch").clone();
        for (from, to) in [(a, b), (b, a)] {
            let kept = links[from as usize].iter().filter(|link| link.to != to);
            links[from as usize] = kept.copied().collect();
        }
        self.links.push(links);
    }

    /// The number of routers.
    pub fn routers(&self) -> usize {
        self.links[0].len()
    }

    /// The number of epochs: one more than failures.
    pub fn epochs(&self) -> usize {
        self.links.len()
    }

    /// The links of a router.
    pub fn links(&self, epoch: usize, router: usize) -> &Links {
        &self.links[epoch][router]
    }
}

/// Links from each router to the next, the lower number first.
fn ring(routers: u32) -> Vec<(u32, u32)> {
    let chain = (1..routers).map(|router| (router - 1, router));
    // Two routers have one link.
    chain.chain((routers > 2).then(|| (0, routers - 1))).collect()
}

/// The minimum number of links of a network: the ring's. The chords are random.
pub fn least_links(routers: u64) -> u64 {
    if routers > 2 { routers } else { routers - 1 }
}

#[cfg(test)]
mod tests {
    use super::{Topology, least_links};

    #[test]
    fn links_lead_both_ways_and_one_fails_in_each_epoch() {
        for routers in 1..40 {
            let failures = least_links(routers.into()) as usize;
            let topology = Topology::generate(routers, failures, 3);
            assert_eq!(topology.epochs(), failures + 1);
            let all = |epoch| {
                let of = |router| topology.links(epoch, router).iter().map(move |link| (router, *link));
                (0..routers as usize).flat_map(of).collect::<Vec<_>>()
            };
            for epoch in 0..=failures {
                let links = all(epoch);
                assert_eq!(links.len() + 2 * epoch, all(0).len());
                for (from, link) in links {
                    let back = topology.links(epoch, link.to as usize).iter().find(|back| back.to == from as u32);
                    assert_eq!(back.map(|back| back.length), Some(link.length));
                }
            }
        }
    }
}
