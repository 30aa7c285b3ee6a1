//! Unbalanced tree search by fork and join: [`crate::uts`] without data.

mod params;
mod serial;
mod tasks;

pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::form::Form;
use crate::uts::{self, Program, Tally, Tree};
use crate::workload::{Probe, RunsOn, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::on_runtime;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "uts-join",
    summary: "Count the nodes of an unbalanced tree by fork and join",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: uts::prepare::<UtsJoin>,
};

struct UtsJoin;

impl Program for UtsJoin {
    const HAS_FORMS: bool = false;

    fn count(tally: Tally) -> u64 {
        count(tally)
    }

    fn tasks(tree: Tree, _: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(Tally, u64), Error> {
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|_| tasks(&tree)));
        probe.stop();
        Ok(done?)
    }
}
