//! A portable parent reads a value.

use millpond_dist::{Handles, ParentScope, PortableParent, Rw, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Grow;

impl PortableParent for Grow {
    type Access = Rw<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, mut n: Handles<'t, Self>) {
        *s.wait_on(&mut n).unwrap() += 1;
    }
}
portable!(Grow, "grow");

fn main() {}
