//! A portable parent spawns a closure.

use millpond_dist::{Handles, ParentScope, PortableParent, Rw, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Grow;

impl PortableParent for Grow {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, n: Handles<'t, Self>) {
        s.spawn(n.inout(), |n: &mut u64| *n += 1);
        s.spawn_portable(n.inout(), |n: &mut u64| *n += 1);
    }
}
portable!(Grow, "grow");

fn main() {}
