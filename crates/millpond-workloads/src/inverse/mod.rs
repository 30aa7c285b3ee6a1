//! The inverse of a matrix by tiles: Gauss–Jordan elimination in place, like the matrix inverse of
//! the CnC samples ([FP](crate#sources) §VI.E).
//!
//! Iteration `k` has four kinds of steps:
//!
//! - The diagonal tile is inverted: `P = A(k,k)^-1`.
//! - The other tiles of its row become `P A(k,j)`.
//! - Tiles outside its row and column become `A(i,j) - A(i,k) A(k,j)`.
//! - The other tiles of its column become `-A(i,k) P`.
//!
//! Rows are exchanged only within the diagonal tile. So the matrix must need no other exchange,
//! such as a diagonally dominant or positive definite one. The check verifies the answer.

mod check;
mod params;
mod serial;
mod steps;

pub use check::{THRESHOLD, scaled_residual};
pub use params::OPTIONS;
pub use serial::serial;
pub use steps::steps;

use crate::cholesky::{Params, Pivot};
use crate::collections;
use crate::error::Error;
use crate::matrix::{Grid, Matrix, Tile, npy};
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond_cnc::{Limit, Settings};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "inverse",
    summary: "Invert a matrix by tiles, as Concurrent Collections",
    options: &OPTIONS,
    runs_on: RunsOn::Collections,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let settings = collections::settings(options, Limit::All)?;
    let (params, matrix) = params::load(options)?;
    Ok(Box::new(Inverse { params, matrix, settings, inverse: None }))
}

struct Inverse {
    params: Params,
    matrix: Matrix,
    settings: Settings,
    inverse: Option<Vec<Vec<Tile>>>,
}

impl Inverse {
    fn grid(&self) -> Grid {
        Grid { n: self.params.n, tile: self.params.tile }
    }

    /// Fresh tiles. The last run's are dropped first, so that memory does not hold both.
    fn tiles(&mut self) -> Vec<Vec<Tile>> {
        self.inverse = None;
        self.grid().cut_all(&self.matrix)
    }

    fn inverse(&self) -> Matrix {
        self.inverse.as_ref().map_or_else(|| Matrix::zeros(self.params.n, self.params.n), |t| self.grid().join_all(t))
    }

    /// Keeps an inverse, unless the inversion failed.
    fn keep(&mut self, inverse: Vec<Vec<Tile>>, pivot: &Pivot) -> Result<(), Error> {
        if let Some((tile, row)) = pivot.found() {
            let row = tile * self.params.tile + row + 1;
            return Err(Error::Singular { matrix: self.params.matrix_name(), tile, row });
        }
        self.inverse = Some(inverse);
        Ok(())
    }
}

impl Job for Inverse {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let mut params = self.params.values();
        params.push(collections::need(self.settings));
        params
    }

    fn tasks(&self) -> u64 {
        (self.grid().count() as u64).pow(3)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let (pivot, tiles) = (Pivot::default(), self.tiles());
        let inverse = collections::graph(runtime, self.settings, |g| steps(g, tiles, &pivot, probe))??;
        self.keep(inverse, &pivot)
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        let (pivot, mut tiles) = (Pivot::default(), self.tiles());
        probe.start();
        serial(&mut tiles, &pivot);
        probe.stop();
        self.keep(tiles, &pivot)
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let scaled_residual = scaled_residual(&self.matrix, &self.inverse());
        let result = vec![("scaled_residual", Value::Float(scaled_residual))];
        Ok(Verdict { verified: scaled_residual < THRESHOLD, result })
    }

    fn save(&self) -> Result<(), Error> {
        match &self.params.output {
            Some(file) => npy::write(file, &self.inverse()),
            None => Ok(()),
        }
    }
}
