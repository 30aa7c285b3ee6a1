//! The factorization of [`cholesky`] as Concurrent Collections ([FP](crate#sources) §VI.D): the
//! same tiles, kernels, files and check.

mod params;
mod steps;

pub use params::OPTIONS;
pub use steps::steps;

use crate::cholesky::{Factoring, Pivot};
use crate::collections;
use crate::matrix::memory::Needs;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, cholesky};
use millpond::catalogue::AnyRuntime;
use millpond_cnc::{Limit, Settings};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cholesky-cnc",
    summary: "Factor a symmetric positive definite matrix by tiles, as Concurrent Collections",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

/// Like `cholesky`, plus all steps with their items, because all are prescribed at once. A step
/// takes 583 bytes, by `peak_rss_bytes` of `run cholesky-cnc --n 400 --tile 4 --preconditions
/// eager`.
const NEEDS: Needs = Needs { tasks: |tiles| cholesky::count(tiles).saturating_mul(640), ..cholesky::NEEDS };

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let settings = collections::settings(options, Limit::All)?;
    Ok(Box::new(CholeskyCnc { factoring: Factoring::load(options, NEEDS)?, settings }))
}

struct CholeskyCnc {
    factoring: Factoring,
    settings: Settings,
}

impl Job for CholeskyCnc {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let mut params = self.factoring.params();
        params.push(collections::need(self.settings));
        params
    }

    fn tasks(&self) -> u64 {
        cholesky::count(self.factoring.grid().count() as u64)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let (pivot, tiles) = (Pivot::default(), self.factoring.tiles());
        let factor = collections::graph(runtime, self.settings, |g| steps(g, tiles, &pivot, probe))??;
        self.factoring.keep(factor, &pivot)
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.factoring.serial(probe)
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        self.factoring.check()
    }

    fn save(&self) -> Result<(), Error> {
        self.factoring.save()
    }
}
