//! Routers that work out their routes, in a network whose links fail ([FP](crate#sources) §VI.H): which tables a router reads
//! is written in the topology, which it reads too.
//!
//! In each round every router gets its links, then the tables of the routers that these lead to, as they were one round
//! before, and puts its own (R. Bellman, "On a routing problem", Quarterly of Applied Mathematics 16, 1958). When a round
//! has changed nothing the routes are the shortest ones, then the next link fails. That is an *epoch*, and it begins with
//! empty tables: each distance in a table is the length of a path that is there, and gets only smaller. So nothing counts
//! to infinity, as it does where routers keep what they have heard of links that are gone; and no router is `n` links
//! away from another, so the round `n` of an epoch changes nothing.
//!
//! With flexible or eager preconditions a router's round is one step. With strict ones it is two: the first gets the links
//! and puts a tag that has them in it, so that the second can say which tables it needs.

mod check;
mod params;
mod serial;
mod steps;
mod table;
mod topology;

pub use check::mismatches;
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use steps::steps;
pub use table::{Route, Table, UNREACHABLE};
pub use topology::{Link, Links, Topology};

use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, collections};
use millpond::catalogue::AnyRuntime;
use millpond_cnc::Preconditions;
use std::sync::Arc;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "routing",
    summary: "Route in a network whose links fail: gets whose keys are values of other gets",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

/// What an epoch ends with.
#[derive(Debug, Clone, PartialEq)]
pub struct Converged {
    /// Its rounds, the last of which has changed nothing.
    pub rounds: u32,
    /// The table of each router.
    pub tables: Vec<Arc<[Route]>>,
}

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, topology) = Params::load(options)?;
    Ok(Box::new(Routing { params, topology: Arc::new(topology), answer: Vec::new() }))
}

struct Routing {
    params: Params,
    topology: Arc<Topology>,
    /// The end of each epoch, as computed last.
    answer: Vec<Converged>,
}

impl Job for Routing {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        let rounds = |epochs: &[Converged]| epochs.iter().map(|epoch| u64::from(epoch.rounds)).sum::<u64>();
        // As many rounds whoever works them out.
        let rounds = if self.answer.is_empty() { rounds(&serial(&self.topology)) } else { rounds(&self.answer) };
        let routers = self.topology.routers() as u64;
        let steps = match self.params.settings.preconditions {
            Preconditions::Strict => 2 * routers,
            _ => routers,
        };
        rounds * (steps + 1)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        // Not held twice.
        self.answer = Vec::new();
        let (settings, topology) = (self.params.settings, &self.topology);
        self.answer = collections::graph(runtime, settings, |g| steps(g, settings.preconditions, topology, probe))??;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.answer = Vec::new();
        probe.start();
        self.answer = serial(&self.topology);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let (routers, epochs) = (self.topology.routers() as u64, self.topology.epochs() as u64);
        let mismatches = mismatches(&self.topology, &self.answer);
        let result =
            vec![("routes", Value::Integer(routers * routers * epochs)), ("mismatches", Value::Integer(mismatches))];
        Ok(Verdict { verified: mismatches == 0, result })
    }
}
