//! Heat in a rod by explicit finite differences: an iterative computation whose dependences form a
//! diamond ([DDS](crate#sources) §1).
//!
//! A point's next temperature is half of its current one plus a quarter of each neighbour's. The
//! rod's ends keep their temperatures. The rod is cut into tiles. A task computes the next state of
//! a tile from the current states of the tile and its two neighbours.
//!
//! Nested forks and joins cannot express this without unnecessary waits, such as a barrier after
//! each step. Here a tile may be many steps ahead of distant ones.

mod check;
mod heat;
mod params;
mod portable;
mod serial;
mod tasks;

pub use check::{allowed, checksum, max_error};
pub use heat::{LEFT, RIGHT, Rod, update};
pub use params::{OPTIONS, Params};
pub use portable::portable;
pub use serial::serial;
pub use tasks::{Pieces, count, tasks};

use crate::Error;
use crate::form::Form;
use crate::options::{Options, Value};
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Root, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "stencil",
    summary: "Heat in a rod by finite differences, tile by tile and step by step",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare,
};

/// Checks the options.
fn prepare(options: &Options) -> Result<Box<dyn Job>, Error> {
    let params = Params::new(options)?;
    let form = Form::new(options);
    Ok(Box::new(Stencil { params, form, rod: Rod::new(params), answer: Vec::new(), expected: None }))
}

struct Stencil {
    params: Params,
    form: Form,
    rod: Rod,
    answer: Vec<f64>,
    /// The serial program's result, once computed.
    expected: Option<Vec<f64>>,
}

impl Stencil {
    /// The pieces of the rod in their first state, and as many without a value.
    fn pieces(&self) -> [Pieces<Root>; 2] {
        let start = self.rod.start();
        let end = |temperature| Handle::new(vec![temperature]);
        let with_ends = |tiles: Vec<_>| [vec![end(LEFT)], tiles, vec![end(RIGHT)]].into_iter().flatten().collect();
        let tiles: Vec<_> = start.chunks(self.params.tile).map(|tile| Handle::new(tile.to_vec())).collect();
        let unset = tiles.iter().map(|_| Handle::unset()).collect();
        [with_ends(tiles), with_ends(unset)]
    }
}

impl Job for Stencil {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let mut params = self.params.values();
        params.push(self.form.value());
        params
    }

    fn tasks(&self) -> u64 {
        count(self.params)
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        self.answer = Vec::new();
        let pieces = self.pieces();
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| match self.form {
            Form::Portable => portable(s, &pieces, self.params.steps),
            Form::Closures => tasks(s, &pieces, self.params.steps),
        }));
        probe.stop();
        done?;
        let [even, odd] = pieces;
        let last = if self.params.steps.is_multiple_of(2) { even } else { odd };
        let tiles = last.len() - 2;
        let mut answer = Vec::with_capacity(self.params.n);
        for tile in last.into_iter().skip(1).take(tiles) {
            answer.append(&mut tile.into_inner()?);
        }
        self.answer = answer;
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        let start = self.rod.start();
        probe.start();
        self.answer = serial(start, self.params.steps);
        probe.stop();
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        let expected = self.expected.get_or_insert_with(|| serial(self.rod.start(), self.params.steps));
        let max_error = max_error(&self.rod, self.params.steps, &self.answer);
        let verified = check::same_bits(expected, &self.answer) && max_error <= allowed(self.params.steps);
        let checksum = checksum(&self.answer);
        let result = vec![("max_error", Value::Float(max_error)), ("checksum", Value::Integer(checksum))];
        Ok(Verdict { verified, result })
    }
}
