//! Cholesky factorisation of a symmetric positive definite matrix by tiles: `A = L L^T`.
//!
//! The tile algorithm of Buttari, Langou, Kurzak and Dongarra, "A class of parallel tiled linear
//! algebra algorithms for multicore architectures", Parallel Computing 35 (2009).

mod check;
mod params;
mod serial;
mod tasks;

pub(crate) use check::EPS;
pub use check::{THRESHOLD, scaled_residual};
pub(crate) use params::{OF_SQUARE, Shape};
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::matrix::memory::Needs;
use crate::matrix::{Grid, Matrix, Tile, npy, power};
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, on_runtime};
use std::sync::OnceLock;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cholesky",
    summary: "Factor a symmetric positive definite matrix by tiles",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    Ok(Box::new(Cholesky(Factoring::load(options, NEEDS)?)))
}

/// The diagonal tile and the row in it at which a factorization or an inversion failed, if it did.
/// The matrix is then not positive definite, or singular.
///
/// Diagonal tiles are processed in order, so at most one fails, and it is always the same.
#[derive(Debug, Default)]
pub struct Pivot(OnceLock<(usize, usize)>);

impl Pivot {
    /// Records the failure.
    pub fn failed(&self, tile: usize, row: usize) {
        // The first failure stays, because the remaining work is skipped.
        let _ = self.0.set((tile, row));
    }

    /// Runs `body` if nothing has failed.
    pub fn unless_failed(&self, body: impl FnOnce()) {
        if self.0.get().is_none() {
            body();
        }
    }

    /// Runs `factor` on a diagonal tile if nothing has failed. It returns a row if it fails.
    pub fn try_factor(&self, tile: usize, factor: impl FnOnce() -> Result<(), usize>) {
        self.unless_failed(|| {
            if let Err(row) = factor() {
                self.failed(tile, row);
            }
        });
    }

    /// The result of `body` if nothing has failed, or an empty tile.
    pub(crate) fn or_zeros(&self, body: impl FnOnce() -> Tile) -> Tile {
        if self.0.get().is_none() { body() } else { Tile::zeros(0, 0) }
    }

    /// The tile that failed, and the row in it.
    pub(crate) fn found(&self) -> Option<(usize, usize)> {
        self.0.get().copied()
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        match self.found() {
            None => Ok(()),
            Some((tile, row)) => {
                let row = tile * params.tile + row + 1;
                Err(Error::NotPositiveDefinite { matrix: params.matrix_name(), tile, row })
            }
        }
    }
}

/// The matrix, the factor, the check's difference, and half a matrix as tiles. The window bounds
/// the number of tasks.
pub(crate) const NEEDS: Needs = Needs { bytes_per_entry: 8 * 7 / 2, tiled_halves: 1, tasks: |_| 0 };

/// The matrix to factor, and the last factor: the shared state of this program's forms.
pub(crate) struct Factoring {
    params: Params,
    /// The matrix to factor: the parameters' matrix times `2^(-2 half)`.
    matrix: Matrix,
    /// Below 0 if entries of the matrix, or products of the factor's entries, would lose digits to
    /// underflow. Large entries need no scaling, because no product exceeds the diagonal.
    half: i32,
    factor: Option<Vec<Vec<Tile>>>,
}

impl Factoring {
    /// Checks the options; reads or generates the matrix.
    pub(crate) fn load(options: &Options, needs: Needs) -> Result<Self, Error> {
        let (params, mut matrix) = Params::load(options, needs, Shape::Symmetric)?;
        let half = check::half_exponent(&matrix).min(0);
        if half != 0 {
            matrix.scale(power(-2 * half));
        }
        Ok(Self { params, matrix, half, factor: None })
    }

    pub(crate) fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    pub(crate) fn grid(&self) -> Grid {
        Grid { n: self.params.n, tile: self.params.tile }
    }

    /// Fresh tiles. The last run's are dropped first, so that memory does not hold both.
    pub(crate) fn tiles(&mut self) -> Vec<Vec<Tile>> {
        self.factor = None;
        self.grid().cut_lower(&self.matrix)
    }

    /// Keeps a factor, unless the factorization failed.
    pub(crate) fn keep(&mut self, factor: Vec<Vec<Tile>>, pivot: &Pivot) -> Result<(), Error> {
        pivot.check(&self.params)?;
        self.factor = Some(factor);
        Ok(())
    }

    pub(crate) fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        let pivot = Pivot::default();
        let mut tiles = self.tiles();
        probe.start();
        serial(&mut tiles, &pivot);
        probe.stop();
        self.keep(tiles, &pivot)
    }

    fn factor(&self) -> Matrix {
        self.factor.as_ref().map_or_else(|| Matrix::zeros(self.params.n, self.params.n), |t| self.grid().join_lower(t))
    }

    pub(crate) fn check(&self) -> Result<Verdict, Error> {
        let scaled_residual = check::residual(&self.matrix, self.factor());
        let mut result = vec![("scaled_residual", Value::Float(scaled_residual))];
        result.extend(self.params.asymmetry.map(|asymmetry| ("asymmetry", Value::Float(asymmetry))));
        Ok(Verdict { verified: scaled_residual < THRESHOLD, result })
    }

    pub(crate) fn save(&self) -> Result<(), Error> {
        match &self.params.output {
            Some(file) => {
                let mut factor = self.factor();
                factor.scale(power(self.half));
                npy::write(file, &factor)
            }
            None => Ok(()),
        }
    }
}

struct Cholesky(Factoring);

impl Job for Cholesky {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.0.params()
    }

    fn tasks(&self) -> u64 {
        count(self.0.grid().count() as u64)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let pivot = Pivot::default();
        let tiles: Vec<Vec<Handle<Tile>>> =
            self.0.tiles().into_iter().map(|row| row.into_iter().map(Handle::new).collect()).collect();
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| tasks(s, &tiles, &pivot)));
        probe.stop();
        done?;
        pivot.check(&self.0.params)?;
        let rows = tiles.into_iter().map(|row| row.into_iter().map(Handle::into_inner).collect());
        self.0.keep(rows.collect::<Result<_, _>>()?, &pivot)
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        self.0.serial(probe)
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        self.0.check()
    }

    fn save(&self) -> Result<(), Error> {
        self.0.save()
    }
}
