//! A Fibonacci number by fork and join: [`fib`](crate::fib) without data.

mod check;
mod params;
mod serial;
mod tasks;

pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, Verdict, Workload};
use millpond::Runtime;

pub(crate) const WORKLOAD: Workload =
    Workload { name: "fib-join", summary: "A Fibonacci number by fork and join", options: OPTIONS, prepare };

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    Ok(Box::new(FibJoin { params: Params::new(options)?, value: 0 }))
}

struct FibJoin {
    params: Params,
    value: u64,
}

impl Job for FibJoin {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        count(self.params)
    }

    fn run(&mut self, runtime: &Runtime, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        let done = runtime.scope(|_| tasks(self.params.n, self.params));
        probe.stop();
        self.value = done?;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.value = serial(std::hint::black_box(self.params.n));
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        Ok(check::verdict(self.params, self.value))
    }
}
