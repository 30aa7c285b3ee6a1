//! A Fibonacci number by fork and join: [`fib`](crate::fib) without data.

mod check;
mod params;
mod serial;
mod tasks;

pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::form::Form;
use crate::number::{self, Program};
use crate::options::Opt;
use crate::workload::{Probe, RunsOn, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::on_runtime;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fib-join",
    summary: "A Fibonacci number by fork and join",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: number::prepare::<FibJoin>,
};

struct FibJoin;

impl Program for FibJoin {
    const OPTIONS: &'static [Opt] = &OPTIONS;
    const ANSWER: &'static str = "value";

    fn count(params: Params) -> u64 {
        count(params)
    }

    fn tasks(params: Params, _: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<u64, Error> {
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|_| tasks(params.n, params)));
        probe.stop();
        Ok(done?)
    }

    fn serial(params: Params) -> u64 {
        serial(params.n)
    }

    fn known(params: Params) -> Option<u64> {
        Some(check::known(params.n))
    }
}
