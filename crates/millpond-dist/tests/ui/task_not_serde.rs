//! A task that cannot be turned into bytes.

use millpond::Out;
use millpond_dist::{Portable, W, portable};

struct One;

impl Portable for One {
    type Access = W<u64>;
    fn run(self, r: Out<'_, u64>) {
        r.set(1);
    }
}
portable!(One, "one");

fn main() {}
