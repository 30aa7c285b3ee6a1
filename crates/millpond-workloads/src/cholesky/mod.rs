//! Cholesky factorisation of a symmetric positive definite matrix by tiles: `A = L L^T`.
//!
//! The tile algorithm of Buttari, Langou, Kurzak and Dongarra, "A class of parallel tiled linear algebra algorithms
//! for multicore architectures", Parallel Computing 35 (2009).

mod check;
mod params;
mod serial;
mod tasks;

pub use check::{THRESHOLD, scaled_residual};
pub use params::{OPTIONS, Params};
pub use serial::serial;
pub use tasks::{count, tasks};

use crate::Error;
use crate::matrix::{Grid, Matrix, Tile, npy};
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, on_runtime};
use std::sync::OnceLock;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cholesky",
    summary: "Factor a symmetric positive definite matrix by tiles",
    options: OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let (params, matrix) = Params::load(options)?;
    Ok(Box::new(Cholesky { params, matrix, factor: None }))
}

/// The diagonal tile and the row in it where a factorisation found its matrix not positive definite, if it did.
///
/// Diagonal tiles are factored one after the other, so at most one fails, and always the same.
#[derive(Debug, Default)]
pub struct Pivot(OnceLock<(usize, usize)>);

impl Pivot {
    /// Notes the failure.
    pub fn failed(&self, tile: usize, row: usize) {
        // Whoever comes second is skipping its work already: the first stays.
        let _ = self.0.set((tile, row));
    }

    /// Runs `body` if nothing has failed.
    pub fn unless_failed(&self, body: impl FnOnce()) {
        if self.0.get().is_none() {
            body();
        }
    }

    fn check(&self, params: &Params) -> Result<(), Error> {
        match self.0.get() {
            None => Ok(()),
            Some(&(tile, row)) => {
                let row = tile * params.tile + row + 1;
                Err(Error::NotPositiveDefinite { matrix: params.matrix_name(), tile, row })
            }
        }
    }
}

struct Cholesky {
    params: Params,
    matrix: Matrix,
    factor: Option<Vec<Vec<Tile>>>,
}

impl Cholesky {
    fn grid(&self) -> Grid {
        Grid { n: self.params.n, tile: self.params.tile }
    }

    fn factor(&self) -> Matrix {
        self.factor.as_ref().map_or_else(|| Matrix::zeros(self.params.n, self.params.n), |t| self.grid().join_lower(t))
    }

    /// Fresh tiles; those of the last run are given up first, so that they are not held twice.
    fn tiles(&mut self) -> Vec<Vec<Tile>> {
        self.factor = None;
        self.grid().cut_lower(&self.matrix)
    }
}

impl Job for Cholesky {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        count(self.grid().count() as u64)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let pivot = Pivot::default();
        let tiles: Vec<Vec<Handle<Tile>>> =
            self.tiles().into_iter().map(|row| row.into_iter().map(Handle::new).collect()).collect();
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| tasks(s, &tiles, &pivot)));
        probe.stop();
        done?;
        pivot.check(&self.params)?;
        let rows = tiles.into_iter().map(|row| row.into_iter().map(Handle::into_inner).collect());
        self.factor = Some(rows.collect::<Result<_, _>>()?);
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        let pivot = Pivot::default();
        let mut tiles = self.tiles();
        probe.start();
        serial(&mut tiles, &pivot);
        probe.stop();
        pivot.check(&self.params)?;
        self.factor = Some(tiles);
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let scaled_residual = scaled_residual(&self.matrix, &self.factor());
        let result = vec![("scaled_residual", Value::Float(scaled_residual))];
        Ok(Verdict { verified: scaled_residual < THRESHOLD, result })
    }

    fn save(&self) -> Result<(), Error> {
        match &self.params.output {
            Some(file) => npy::write(file, &self.factor()),
            None => Ok(()),
        }
    }
}
