//! A Fibonacci number by dataflow: all overhead and hardly any work, so that it measures the cost of a task.

mod check;
mod params;
mod serial;
mod tasks;

pub use check::known;
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, Verdict, Workload};
use millpond::{Handle, Runtime};

pub(crate) const WORKLOAD: Workload =
    Workload { name: "fib", summary: "A Fibonacci number by dataflow tasks", options: OPTIONS, prepare };

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    Ok(Box::new(Fib { params: Params::new(options)?, value: 0 }))
}

struct Fib {
    params: Params,
    value: u64,
}

impl Job for Fib {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        count(self.params)
    }

    fn run(&mut self, runtime: &Runtime, probe: &mut dyn Probe) -> Result<(), Error> {
        let result = Handle::unset();
        probe.start();
        let done = runtime.scope(|s| tasks(s, self.params.n, self.params, result.write()));
        probe.stop();
        done?;
        self.value = result.into_inner()?;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.value = serial(std::hint::black_box(self.params.n));
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        Ok(verdict(self.params, self.value))
    }
}

/// Compares `value` with the recurrence.
pub(crate) fn verdict(params: Params, value: u64) -> Verdict {
    Verdict { verified: value == known(params.n), result: vec![("value", Value::Integer(value))] }
}
