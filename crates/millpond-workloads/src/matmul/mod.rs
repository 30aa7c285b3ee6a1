//! The product of two square matrices by tiles: `C = A B`.

mod check;
mod params;
mod serial;
mod tasks;

pub use check::{THRESHOLD, scaled_error};
pub use params::{OPTIONS, Order, Params};
pub use serial::{serial, steps};
pub use tasks::{Tiles, count, tasks};

use crate::Error;
use crate::matrix::{Grid, Matrix, Tile, generate};
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Root, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "matmul",
    summary: "Multiply two square matrices by tiles",
    options: OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let params = Params::new(options)?;
    let a = generate::uniform(params.n, params.n, params.seed);
    let b = generate::uniform(params.n, params.n, params.seed.wrapping_add(1));
    Ok(Box::new(Matmul { params, a, b, product: None }))
}

struct Matmul {
    params: Params,
    a: Matrix,
    b: Matrix,
    product: Option<Vec<Vec<Tile>>>,
}

impl Matmul {
    fn grid(&self) -> Grid {
        Grid { n: self.params.n, tile: self.params.tile }
    }

    fn zeros(&mut self) -> Vec<Vec<Tile>> {
        self.product = None;
        let grid = self.grid();
        let row = |i| (0..grid.count()).map(|j| Tile::zeros(grid.size(i), grid.size(j))).collect();
        (0..grid.count()).map(row).collect()
    }
}

fn handles(tiles: Vec<Vec<Tile>>) -> Tiles<Root> {
    tiles.into_iter().map(|row| row.into_iter().map(Handle::new).collect()).collect()
}

impl Job for Matmul {
    fn params(&self) -> Vec<(&'static str, Value)> {
        self.params.values()
    }

    fn tasks(&self) -> u64 {
        count(self.grid().count() as u64)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let c = handles(self.zeros());
        let (a, b) = (handles(self.grid().cut_all(&self.a)), handles(self.grid().cut_all(&self.b)));
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| tasks(s, &a, &b, &c, self.params.order)));
        probe.stop();
        done?;
        let rows = c.into_iter().map(|row| row.into_iter().map(Handle::into_inner).collect());
        self.product = Some(rows.collect::<Result<_, _>>()?);
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        let mut c = self.zeros();
        let (a, b) = (self.grid().cut_all(&self.a), self.grid().cut_all(&self.b));
        probe.start();
        serial(&a, &b, &mut c, self.params.order);
        probe.stop();
        self.product = Some(c);
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let product = self.grid().join_all(self.product.as_deref().unwrap_or_default());
        let scaled_error = scaled_error(&self.a, &self.b, &product, self.params.seed);
        let result = vec![("scaled_error", Value::Float(scaled_error))];
        Ok(Verdict { verified: scaled_error < THRESHOLD, result })
    }
}
