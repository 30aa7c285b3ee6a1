//! The serial program: the same rounds, one router after the other.

use super::{Converged, Table, Topology};

/// The result of each epoch.
pub fn serial(topology: &Topology) -> Vec<Converged> {
    (0..topology.epochs()).map(|epoch| converge(topology, epoch)).collect()
}

fn converge(topology: &Topology, epoch: usize) -> Converged {
    let routers = topology.routers();
    let mut tables: Vec<_> = (0..routers).map(|router| Table::first(router as u32, routers)).collect();
    for rounds in 1.. {
        let later = |router| {
            let links = topology.links(epoch, router).iter();
            tables[router].later(links.map(|link| (link, &tables[link.to as usize])))
        };
        tables = (0..routers).map(later).collect();
        if tables.iter().all(|table| !table.changed) {
            return Converged { rounds, tables: tables.into_iter().map(|table| table.routes).collect() };
        }
    }
    unreachable!("no router is as many links away as there are routers")
}
