//! The arguments of a body differ from those that the task declares.

use millpond::Out;
use millpond_dist::{Portable, R, W, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Double;

impl Portable for Double {
    type Access = (R<u64>, W<u64>);
    fn run(self, (a, r): (&mut u64, Out<u64>)) {
        r.set(2 * *a);
    }
}
portable!(Double, "double");

fn main() {}
