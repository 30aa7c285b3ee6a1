//! In how many ways `n` queens stand on an `n` x `n` board without attacking one another.

mod check;
mod params;
mod serial;
mod tasks;

pub use check::known;
pub use params::{OPTIONS, Params};
pub use serial::{Board, serial};
pub use tasks::{count, tasks};

use crate::Error;
use crate::number::{self, Program};
use crate::options::Opt;
use crate::workload::{Probe, RunsOn, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Sum, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "nqueens",
    summary: "Count the solutions of the n queens problem",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: number::prepare::<Queens>,
};

struct Queens;

impl Program for Queens {
    const OPTIONS: [Opt; 2] = OPTIONS;
    const ANSWER: &'static str = "solutions";

    fn count(params: Params) -> u64 {
        // The root places the first row's queens itself: the empty board is no task.
        Board::new(params.n).placements().map(|next| count(next, params.cutoff)).sum()
    }

    fn tasks(params: Params, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<u64, Error> {
        let total = Handle::new(0);
        let first = Board::new(params.n).placements();
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| {
            first.for_each(|next| tasks(s, next, params.cutoff, total.reduce(Sum)));
        }));
        probe.stop();
        done?;
        Ok(total.into_inner()?)
    }

    fn serial(params: Params) -> u64 {
        serial(Board::new(params.n))
    }

    fn known(params: Params) -> Option<u64> {
        known(params.n)
    }
}
