//! Routers compute their routes in a network whose links fail ([FP](crate#sources) §VI.H). The
//! topology determines the tables read by a router, and is itself an input of the router.
//!
//! In each round every router gets its links, and its neighbours' tables of the previous round.
//! Then it puts its own table (R. Bellman, "On a routing problem", Quarterly of Applied Mathematics
//! 16, 1958). When a round changes nothing, the routes are the shortest, and the next link fails.
//! The rounds between failures are an *epoch*.
//!
//! An epoch begins with empty tables. So each distance in a table is the length of an existing
//! path, and only decreases. This avoids counting to infinity, which happens if routers keep routes
//! over failed links. No router is `n` links away from another, so round `n` of an epoch changes
//! nothing.
//!
//! With flexible or eager preconditions a router's round is one step. With strict ones it is two.
//! The first gets the links and puts a tag containing them, so that the second can declare its
//! tables.

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

/// The result of an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Converged {
    /// The number of rounds. The last one changed nothing.
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
    /// The last computed result of each epoch.
    answer: Vec<Converged>,
}

impl Job for Routing {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        let rounds = |epochs: &[Converged]| epochs.iter().map(|epoch| u64::from(epoch.rounds)).sum::<u64>();
        // The number of rounds does not depend on the program.
        let rounds = if self.answer.is_empty() { rounds(&serial(&self.topology)) } else { rounds(&self.answer) };
        let routers = self.topology.routers() as u64;
        let steps = match self.params.settings.preconditions {
            Preconditions::Strict => 2 * routers,
            _ => routers,
        };
        rounds * (steps + 1)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        // Dropped first, so that memory does not hold two.
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
