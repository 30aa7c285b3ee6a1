//! Checks that the routes are the shortest. The algorithm is Dijkstra's: E. W. Dijkstra, "A note on
//! two problems in connexion with graphs", Numerische Mathematik 1, 1959.

use super::{Converged, Route, Topology, UNREACHABLE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The number of wrong routes. Such a route is longer than the shortest path, or its first router
/// is not on a shortest path.
pub fn mismatches(topology: &Topology, answer: &[Converged]) -> u64 {
    let routers = topology.routers();
    let of_epoch = |epoch: usize| {
        let tables = answer.get(epoch).map_or(&[][..], |converged| &converged.tables);
        (0..routers).map(|to| towards(topology, epoch, to, tables)).sum::<u64>()
    };
    (0..topology.epochs()).map(of_epoch).sum()
}

/// The number of wrong routes to one router. Links have the same length in both directions, so
/// distances from and to the router are equal.
fn towards(topology: &Topology, epoch: usize, to: usize, tables: &[Arc<[Route]>]) -> u64 {
    let distances = dijkstra(topology, epoch, to);
    let right = |from: usize| {
        let Some(&Route { distance, next }) = tables.get(from).and_then(|table| table.get(to)) else { return false };
        let over = || {
            let link = topology.links(epoch, from).iter().find(|link| link.to == next)?;
            distances[next as usize].checked_add(link.length)
        };
        let leads = match distance {
            UNREACHABLE => next == UNREACHABLE,
            0 => next as usize == from && from == to,
            _ => over() == Some(distance),
        };
        distance == distances[from] && leads
    };
    (0..topology.routers()).filter(|&from| !right(from)).count() as u64
}

/// The distance of every router from one router.
fn dijkstra(topology: &Topology, epoch: usize, from: usize) -> Vec<u32> {
    let mut distances = vec![UNREACHABLE; topology.routers()];
    distances[from] = 0;
    let mut nearest = BinaryHeap::from([Reverse((0, from))]);
    while let Some(Reverse((distance, router))) = nearest.pop() {
        if distance > distances[router] {
            continue;
        }
        for link in topology.links(epoch, router).iter() {
            let (over, to) = (distance + link.length, link.to as usize);
            if over < distances[to] {
                distances[to] = over;
                nearest.push(Reverse((over, to)));
            }
        }
    }
    distances
}
