//! A reduction with a type that is no reducer of these values.

use millpond::Append;
use millpond_dist::{Cw, Portable, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = Cw<u64, Append>;
    fn run(self, part: &mut u64) {
        *part += 1;
    }
}
portable!(One, "one");

fn main() {}
