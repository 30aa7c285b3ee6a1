//! The paper's synthetic algorithm ([TP](crate#sources) §7.2): unbalanced trees of tasks that only
//! take time.
//!
//! If `i <= 0`, task `A(i)` takes `100 f` units of time. Otherwise it takes `10 f`, puts `A(i -
//! 2)`, takes `50 f`, puts `A(i - 1)`, and takes another `100 f`. The workers get the initial tasks
//! `A(k - 1)` to `A(0)` round-robin.
//!
//! It runs on a task pool alone, as in the paper.

mod check;
mod params;
mod record;
mod serial;
mod tasks;

pub use crate::spin::work;
pub use check::count;
pub use params::{OPTIONS, Params};
pub use record::record;
pub use serial::serial;
pub use tasks::{Step, init, tasks};

use crate::Error;
use crate::options::{Options, Value};
use crate::workload::{Job, PoolParts, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::pool::Counts;
use millpond::record::Sink;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "synthetic",
    summary: "Unbalanced trees of tasks that only take time",
    options: &OPTIONS,
    runs_on: RunsOn::TaskPool,
    prepare,
};

/// Checks the options.
fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let params = Params { k: options.get(&params::K)?, f: options.get(&params::F)? };
    Ok(Box::new(Synthetic { params, ran: 0, counts: None }))
}

struct Synthetic {
    params: Params,
    /// The number of bodies that have run.
    ran: u64,
    /// What the last pool has counted.
    counts: Option<Counts>,
}

impl Job for Synthetic {
    fn params(&self) -> Vec<(&'static str, Value)> {
        vec![("k", Value::Integer(self.params.k)), ("f", Value::Integer(self.params.f))]
    }

    fn tasks(&self) -> u64 {
        count(self.params.k)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        self.run_in_pool(&PoolParts::of(runtime), probe)
    }

    fn run_in_pool(&mut self, parts: &PoolParts, probe: &mut dyn Probe) -> Result<(), Error> {
        let (ran, counts) = tasks::counted(self.params, parts, probe);
        (self.ran, self.counts) = (ran, Some(counts));
        Ok(())
    }

    fn pool_counts(&self) -> Option<Counts> {
        self.counts
    }

    fn record_in_pool(&mut self, parts: &PoolParts, probe: &mut dyn Probe, sink: &dyn Sink) -> Result<(), Error> {
        self.ran = record(self.params, parts, probe, sink);
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.ran = serial(self.params);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let verified = self.ran == count(self.params.k);
        Ok(Verdict { verified, result: vec![("tasks", Value::Integer(self.ran))] })
    }
}
