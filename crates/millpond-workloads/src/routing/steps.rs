//! The program as Concurrent Collections. The environment applies the failures: after an epoch it
//! puts the links of the next one.

use super::{Converged, Link, Links, Table, Topology};
use crate::Error;
use crate::workload::Probe;
use millpond_cnc::{CountedItems, Graph, Items, Preconditions, Tags};
use std::sync::Arc;

/// An epoch, a round of it and a router.
type At = (u32, u32, u32);

/// An epoch and a round of it.
type Round = (u32, u32);

/// The collections.
#[derive(Clone, Copy)]
struct Network<'x> {
    routers: u32,
    /// By epoch and router.
    links: Items<'x, (u32, u32), Links>,
    /// The next round uses each table: its router does, and each router with a link to it.
    tables: CountedItems<'x, At, Table>,
    /// Whether a table differs from the previous round's.
    changes: Items<'x, At, bool>,
    /// The last round of an epoch.
    ends: Items<'x, u32, u32>,
    /// Prescribes a round of a router.
    steps: Tags<'x, At>,
    /// Prescribes the decision after a round.
    rounds: Tags<'x, Round>,
}

/// Computes the routes of each epoch.
pub fn steps(
    g: &Graph<'_, '_, '_>,
    preconditions: Preconditions,
    topology: &Arc<Topology>,
    probe: &mut dyn Probe,
) -> Result<Vec<Converged>, Error> {
    let network = Network::new(g, topology);
    if preconditions == Preconditions::Strict {
        network.in_two_steps(g);
    } else {
        network.in_one_step(g);
    }
    network.decide(g);
    probe.start();
    let epochs = (0..topology.epochs()).map(|epoch| network.converge(g, topology, epoch));
    let answer = epochs.collect::<Result<_, _>>()?;
    g.wait()?;
    probe.stop();
    Ok(answer)
}

impl<'x> Network<'x> {
    fn new(g: &Graph<'_, 'x, '_>, topology: &Arc<Topology>) -> Self {
        let (routers, epochs) = (topology.routers() as u32, topology.epochs() as u32);
        let of_tables = topology.clone();
        Self {
            routers,
            links: g.dense_items("links", (epochs, routers)),
            tables: g.counted_items("table", move |&(epoch, _, router): &At| {
                of_tables.links(epoch as usize, router as usize).len() as u32 + 1
            }),
            changes: g.items("changed"),
            ends: g.dense_items("last round", epochs),
            steps: g.tags("steps"),
            rounds: g.tags("rounds"),
        }
    }

    /// One step per round and router. It gets its links, and then knows the tables to get.
    fn in_one_step(self, g: &Graph<'_, 'x, '_>) {
        let step = g.steps::<At>("route").produces(self.tables).produces(self.changes);
        let step = step.preconditions(move |&(epoch, round, router), need| {
            need.wait_on(self.tables, (epoch, round - 1, router));
            need.wait_on(self.links, (epoch, router));
        });
        self.steps.prescribes(step.execute(move |at| async move {
            let links = self.links.get((at.0, at.2)).await;
            self.route(at, links).await;
        }));
    }

    /// Two steps. The tag of the second one contains the links.
    fn in_two_steps(self, g: &Graph<'_, 'x, '_>) {
        let routes = g.tags::<(At, Links)>("routes");
        let step = g.steps::<At>("look");
        let step = step.preconditions(move |&(epoch, _, router), need| need.wait_on(self.links, (epoch, router)));
        self.steps.prescribes(step.execute(move |at| async move {
            let links = self.links.get((at.0, at.2)).await;
            routes.put((at, links.clone()));
        }));
        let step = g.steps::<(At, Links)>("route").produces(self.tables).produces(self.changes);
        let step = step.preconditions(move |((epoch, round, router), links), need| {
            need.wait_on(self.tables, (*epoch, round - 1, *router));
            links.iter().for_each(|link| need.wait_on(self.tables, (*epoch, round - 1, link.to)));
        });
        routes.prescribes(step.execute(move |(at, links)| async move { self.route(at, &links).await }));
    }

    async fn route(self, at: At, links: &[Link]) {
        let (epoch, round, router) = at;
        let own = self.tables.get((epoch, round - 1, router)).await;
        let mut heard = Vec::with_capacity(links.len());
        for link in links {
            heard.push(self.tables.get((epoch, round - 1, link.to)).await);
        }
        let table = own.later(links.iter().zip(heard.iter().map(|table| &**table)));
        let changed = table.changed;
        self.tables.put(at, table);
        // Put after the table, so that a step that has all changes finds all tables.
        self.changes.put(at, changed);
    }

    /// One step per round. Like [FP](crate#sources)'s AND-reduction (§III), it stops at the first
    /// table that has changed.
    fn decide(self, g: &Graph<'_, 'x, '_>) {
        let step = g.steps::<Round>("decide").produces(self.ends);
        let step = step.preconditions(move |&(epoch, round), need| {
            (0..self.routers).for_each(|router| need.wait_on(self.changes, (epoch, round, router)));
        });
        self.rounds.prescribes(step.execute(move |(epoch, round)| async move {
            for router in 0..self.routers {
                if *self.changes.get((epoch, round, router)).await {
                    return self.begin(epoch, round + 1);
                }
            }
            self.ends.put(epoch, round);
        }));
    }

    fn begin(self, epoch: u32, round: u32) {
        self.steps.put_all((0..self.routers).map(|router| (epoch, round, router)));
        self.rounds.put((epoch, round));
    }

    fn converge(self, g: &Graph<'_, 'x, '_>, topology: &Topology, epoch: usize) -> Result<Converged, Error> {
        let at = epoch as u32;
        for router in 0..self.routers {
            self.links.put((at, router), topology.links(epoch, router as usize).clone());
            self.tables.put((at, 0, router), Table::first(router, self.routers as usize));
        }
        self.begin(at, 1);
        let rounds = *g.get(self.ends, at)?;
        let tables = (0..self.routers).map(|router| Ok(g.get(self.tables, (at, rounds, router))?.routes.clone()));
        Ok(Converged { rounds, tables: tables.collect::<Result<_, Error>>()? })
    }
}
