//! Unbalanced tree search: counts the nodes and leaves, and finds the depth, of a random tree whose
//! subtrees have very different sizes.
//!
//! Only the hash determines a subtree's size, so no program can divide the work in advance. (S.
//! Olivier, J. Huan, J. Liu, J. Prins, J. Dinan, P. Sadayappan, C.-W. Tseng, "UTS: an unbalanced
//! tree search benchmark", LCPC 2006.)
//!
//! This is a part of UTS 1.1. A hybrid tree always begins linear, and turns binomial at half of its
//! depth (no `-a`, no `-f`). There is no type BALANCED. A node has no work except its hash (no
//! `-g`).

mod check;
mod params;
mod portable;
mod search;
mod serial;
mod tally;
mod tasks;
mod tree;

pub use check::{PUBLISHED, Published};
pub use params::{OPTIONS, Params};
pub use portable::portable;
pub use serial::{serial, serial_below};
pub use tally::{Merge, Tally};
pub use tasks::{count, tasks};
pub use tree::{Node, Shape, Tree};

pub(crate) use params::TREES;
pub(crate) use search::{Program, prepare};

use crate::Error;
use crate::form::Form;
use crate::workload::{Probe, RunsOn, Workload};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, on_runtime};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "uts",
    summary: "Count the nodes of an unbalanced tree",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: prepare::<Uts>,
};

struct Uts;

impl Program for Uts {
    const HAS_FORMS: bool = true;

    fn count(tally: Tally) -> u64 {
        count(tally)
    }

    fn tasks(tree: Tree, form: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(Tally, u64), Error> {
        let total = Handle::new(Tally::default());
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| match form {
            Form::Portable => portable(s, tree, total.accumulate(Merge)),
            Form::Closures => tasks(s, tree, total.accumulate(Merge)),
        }));
        probe.stop();
        done?;
        let tally = total.into_inner()?;
        Ok((tally, count(tally)))
    }
}
