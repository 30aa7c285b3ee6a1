//! Gets whose keys are the values of other gets ([FP](crate#sources) §VI.F, Figure 6). Each task
//! follows a chain of items.
//!
//! With flexible or eager preconditions, a task is one step with several gets. With strict ones,
//! each get needs its own step, because its key must be known before the step is prescribed. Such a
//! task must be ported to strict preconditions in the same way.

mod check;
mod params;
mod serial;
mod steps;

pub use check::checksum;
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use steps::steps;

use crate::Error;
use crate::collections;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond_cnc::Preconditions;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "porting",
    summary: "Follow chains of items: gets whose keys are values of other gets",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let params = Params::load(options)?;
    Ok(Box::new(Porting { params, values: params::values(params), answer: Vec::new() }))
}

struct Porting {
    params: Params,
    /// The value of each key: the next key.
    values: Vec<u32>,
    /// The last key of each task's chain.
    answer: Vec<u32>,
}

impl Job for Porting {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        let steps = match self.params.settings.preconditions {
            Preconditions::Strict => self.params.gets,
            _ => 1,
        };
        self.params.tasks * steps
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let (params, values) = (self.params, &self.values);
        self.answer = collections::graph(runtime, params.settings, |g| steps(g, params, values, probe))??;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.answer = serial(self.params, &self.values);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let verified = self.answer == serial(self.params, &self.values);
        Ok(Verdict { verified, result: vec![("checksum", Value::Integer(checksum(&self.answer)))] })
    }
}
