//! A task without a name.

use millpond::Out;
use millpond_dist::{Portable, W};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = W<u64>;
    fn run(self, r: Out<'_, u64>) {
        r.set(1);
    }
}

fn main() {}
