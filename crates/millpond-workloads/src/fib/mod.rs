//! A Fibonacci number by dataflow. It has almost no work, so it measures the cost of a task.

mod check;
mod params;
mod portable;
mod serial;
mod tasks;

pub use check::known;
pub use params::{OPTIONS, Params};
pub use portable::portable;
pub use serial::serial;
pub use tasks::{count, tasks};

pub(crate) use params::{SIZES, count as count_with, is_leaf};

use crate::Error;
use crate::form::Form;
use crate::number::{self, Program};
use crate::options::Opt;
use crate::workload::{Probe, RunsOn, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fib",
    summary: "A Fibonacci number by dataflow tasks",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: number::prepare::<Fib>,
};

struct Fib;

impl Program for Fib {
    const OPTIONS: &'static [Opt] = &OPTIONS;
    const ANSWER: &'static str = "value";

    fn count(params: Params) -> u64 {
        count(params)
    }

    fn tasks(params: Params, form: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<u64, Error> {
        let result = Handle::unset();
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| match form {
            Form::Portable => portable(s, params.n, params, result.write()),
            Form::Closures => tasks(s, params.n, params, result.write()),
        }));
        probe.stop();
        done?;
        Ok(result.into_inner()?)
    }

    fn serial(params: Params) -> u64 {
        serial(params.n)
    }

    fn known(params: Params) -> Option<u64> {
        Some(known(params.n))
    }
}
