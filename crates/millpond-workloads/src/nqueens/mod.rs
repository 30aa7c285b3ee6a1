//! The number of ways to place `n` queens on an `n` x `n` board so that no queen attacks another.
//!
//! The program searches the half of the ways that begins in the left half of the board. The others
//! are their mirror images. It uses no other symmetry. Takaken's program, used in
//! [DDS](crate#sources) §5, also derives solutions by rotation.

mod board;
mod check;
mod params;
mod portable;
mod serial;
mod tasks;

pub use board::Board;
pub use check::known;
pub use params::{OPTIONS, Params};
pub use portable::portable;
pub use serial::{serial, serial_below};
pub use tasks::{count, tasks};

use crate::Error;
use crate::form::Form;
use crate::number::{self, Program};
use crate::options::Opt;
use crate::workload::{Probe, RunsOn, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, Sum, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "nqueens",
    summary: "Count the solutions of the n queens problem",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: number::prepare::<Queens>,
};

struct Queens;

impl Program for Queens {
    const OPTIONS: &'static [Opt] = &OPTIONS;
    const ANSWER: &'static str = "solutions";

    fn count(params: Params) -> u64 {
        // The root places the first row's queens itself, and the second row's below a queen in the
        // middle.
        Board::begun(params.n).0.map(|board| count(board, params.cutoff)).sum()
    }

    fn tasks(params: Params, form: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<u64, Error> {
        let total = Handle::new(0);
        let (begun, factor) = Board::begun(params.n);
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| {
            begun.for_each(|board| match form {
                Form::Portable => portable(s, board, params.cutoff, total.accumulate(Sum)),
                Form::Closures => tasks(s, board, params.cutoff, total.accumulate(Sum)),
            });
        }));
        probe.stop();
        done?;
        Ok(total.into_inner()? * factor)
    }

    fn serial(params: Params) -> u64 {
        serial(params.n)
    }

    fn known(params: Params) -> Option<u64> {
        known(params.n)
    }
}
