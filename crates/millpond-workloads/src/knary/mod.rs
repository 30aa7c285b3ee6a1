//! A tree of tasks with adjustable parallelism: Cilk's `knary(n, k, r)`.
//!
//! The tree has `n` levels of nodes, each of which runs a loop of 400 iterations. A node above the
//! last level has `k` children. The first `r` subtrees run one after the other, then the others in
//! parallel. So `r = 0` gives abundant parallelism, and `r = k` none. (R. Blumofe et al., "Cilk: an
//! efficient multithreaded runtime system", PPoPP 1995. Its sizes are 10, 5, 2, the defaults here,
//! and 10, 4, 1.)
//!
//! [DDS](crate#sources) Table 1 has a Knary(35, 10) with a threshold of 15, whose meaning it does
//! not give. It cannot be one of these trees: with 35 levels and 10 children per node it would have
//! 10^34 leaves. So do not compare times here with that table.

mod check;
mod params;
mod portable;
mod serial;
mod tasks;

pub use check::nodes;
pub use params::{OPTIONS, Params};
pub use portable::portable;
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::form::Form;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Sum, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "knary",
    summary: "Count the nodes of a tree whose first children run one after the other",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare,
};

/// Checks the options.
fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    Ok(Box::new(Knary { params: Params::new(options)?, form: Form::new(options), nodes: 0 }))
}

struct Knary {
    params: Params,
    form: Form,
    /// The number of visited nodes.
    nodes: u64,
}

impl Job for Knary {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let mut params = self.params.values();
        params.push(self.form.value());
        params
    }

    fn tasks(&self) -> u64 {
        count(self.params)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let visited = Handle::new(0);
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| match self.form {
            Form::Portable => portable(s, self.params, visited.accumulate(Sum)),
            Form::Closures => tasks(s, self.params, visited.accumulate(Sum)),
        }));
        probe.stop();
        done?;
        self.nodes = visited.into_inner()?;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.nodes = serial(self.params, self.params.n);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let verified = nodes(self.params.n, self.params.k) == Some(self.nodes);
        Ok(Verdict { verified, result: vec![("nodes", Value::Integer(self.nodes))] })
    }
}
