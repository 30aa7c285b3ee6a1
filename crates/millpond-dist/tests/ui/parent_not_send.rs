//! A task that cannot leave its thread, let alone its process.

use std::rc::Rc;

use millpond_dist::{Handles, ParentScope, PortableParent, Rw, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Grow {
    #[serde(skip)]
    by: Rc<u64>,
}

impl PortableParent for Grow {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, n: Handles<'t, Self>) {
        s.set(&n, *self.by);
    }
}
portable!(Grow, "grow");

fn main() {}
