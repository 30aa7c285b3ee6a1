//! Prices of European options by the closed formula, with a block of options per step
//! ([FP](crate#sources) §VI.C). The program is PARSEC's: C. Bienia, S. Kumar, J. P. Singh and K.
//! Li, "The PARSEC Benchmark Suite: Characterization and Architectural Implications", PACT 2008.
//!
//! Each step gets one item, put by the environment, and puts one. So no step waits, and the program
//! measures the cost of a step. It uses double precision, where PARSEC uses single.

mod check;
mod generate;
mod params;
mod price;
mod serial;
mod steps;
mod text;

pub use check::{THRESHOLD, exact, max_abs_error};
pub use generate::generate;
pub use params::{OPTIONS, Params};
pub use price::{Contract, Right, price};
pub use serial::serial;
pub use steps::steps;

use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, collections, output};
use millpond::catalogue::AnyRuntime;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "blackscholes",
    summary: "Price European options by the formula of Black and Scholes",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, portfolio) = Params::load(options)?;
    Ok(Box::new(BlackScholes { params, portfolio, prices: Vec::new() }))
}

/// The options to price.
#[derive(Debug, Clone, PartialEq)]
pub struct Portfolio {
    /// The options.
    pub contracts: Vec<Contract>,
    /// The reference prices of a file. For generated options, [`exact`] computes them.
    pub references: Option<Vec<f64>>,
}

struct BlackScholes {
    params: Params,
    portfolio: Portfolio,
    /// The last answer.
    prices: Vec<f64>,
}

impl Job for BlackScholes {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        self.params.blocks().into()
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        // Dropped first, so that memory does not hold two.
        self.prices = Vec::new();
        let (params, contracts) = (&self.params, self.portfolio.contracts.as_slice());
        self.prices = collections::graph(runtime, params.settings, |g| steps(g, params, contracts, probe))??;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.prices = Vec::new();
        probe.start();
        self.prices = serial(&self.portfolio.contracts);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let max_abs_error = max_abs_error(&self.portfolio, &self.prices);
        let result = vec![
            ("options", Value::Integer(self.portfolio.contracts.len() as u64)),
            ("max_abs_error", Value::Float(max_abs_error)),
        ];
        Ok(Verdict { verified: max_abs_error < THRESHOLD, result })
    }

    fn save(&self) -> Result<(), Error> {
        let Some(file) = &self.params.output else { return Ok(()) };
        output::write(file, |out| self.prices.iter().try_for_each(|price| writeln!(out, "{price}")))
    }
}
