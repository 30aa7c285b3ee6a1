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
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, Verdict, Workload};
use millpond::{Handle, Runtime, Sum};

pub(crate) const WORKLOAD: Workload =
    Workload { name: "nqueens", summary: "Count the solutions of the n queens problem", options: OPTIONS, prepare };

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    Ok(Box::new(Queens { params: Params::new(options)?, solutions: 0 }))
}

struct Queens {
    params: Params,
    solutions: u64,
}

impl Queens {
    fn board(&self) -> Board {
        Board::new(self.params.n)
    }
}

impl Job for Queens {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        // The root places the first row's queens itself: the empty board is no task.
        self.board().placements().map(|next| count(next, self.params.cutoff)).sum()
    }

    fn run(&mut self, runtime: &Runtime, probe: &mut dyn Probe) -> Result<(), Error> {
        let total = Handle::new(0);
        let (board, cutoff) = (self.board(), self.params.cutoff);
        probe.start();
        let done = runtime.scope(|s| board.placements().for_each(|next| tasks(s, next, cutoff, total.reduce(Sum))));
        probe.stop();
        done?;
        self.solutions = total.into_inner()?;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.solutions = serial(std::hint::black_box(self.board()));
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let verified = known(self.params.n) == Some(self.solutions);
        Ok(Verdict { verified, result: vec![("solutions", Value::Integer(self.solutions))] })
    }
}
