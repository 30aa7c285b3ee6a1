//! Unbalanced tree search: counts the nodes, the leaves and the levels of a random tree whose
//! subtrees have very different sizes.
//!
//! Nothing but its hash determines how large a subtree is, so no program can divide the work in
//! advance. (S. Olivier, J. Huan, J. Liu, J. Prins, J. Dinan, P. Sadayappan, C.-W. Tseng, "UTS: an
//! unbalanced tree search benchmark", LCPC 2006.)

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

    fn tasks(tree: Tree, form: Form, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<Tally, Error> {
        let total = Handle::new(Tally::default());
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| match form {
            Form::Portable => portable(s, tree, total.reduce(Merge)),
            Form::Closures => tasks(s, tree, total.reduce(Merge)),
        }));
        probe.stop();
        done?;
        Ok(total.into_inner()?)
    }
}
