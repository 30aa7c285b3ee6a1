//! The short-circuit AND-reduction ([FP](crate#sources) §III, Listings 1 to 3; §VI.G, Figure 7).
//! Tiles are updated in iterations, independently. After each iteration a reduction reads the tiles
//! in order, and stops at the first that has not converged.
//!
//! So the next iteration may begin before the other tiles of this one. With strict preconditions
//! the reduction waits for all of them.

mod params;
mod serial;
mod steps;

pub use params::{OPTIONS, Params};
pub use serial::{Decision, Tile, serial};
pub use steps::steps;

use crate::Error;
use crate::collections;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "reduction",
    summary: "Iterate tiles until a short-circuit reduction says that all have converged",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    Ok(Box::new(Reduction { params: Params::load(options)?, answer: None, expected: None }))
}

struct Reduction {
    params: Params,
    answer: Option<Decision>,
    expected: Option<Decision>,
}

impl Job for Reduction {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    /// The tasks of the serial program. The number of skipped last updates depends on the order.
    fn tasks(&self) -> u64 {
        (self.params.tiles + 1) * self.expected.map_or(self.params.iterations, |decision| decision.iterations)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let params = &self.params;
        self.answer = Some(collections::graph(runtime, params.settings, |g| steps(g, params, probe))??);
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        self.answer = Some(serial(&self.params));
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        // Without the additional work, which only takes time.
        let params = Params { work: 0, late: 0, ..self.params };
        let expected = *self.expected.get_or_insert_with(|| serial(&params));
        let answer = self.answer.unwrap_or_default();
        let result = vec![
            ("value", Value::Integer(answer.value.into())),
            ("iterations", Value::Integer(answer.iterations)),
            ("tiles_read", Value::Integer(answer.tiles_read)),
        ];
        Ok(Verdict { verified: self.answer == Some(expected), result })
    }
}
