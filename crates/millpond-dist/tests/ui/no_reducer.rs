//! A reduction with a type that is no reducer of these values.

use millpond::{Acc, Append};
use millpond_dist::{Cw, Portable, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = Cw<u64, Append>;
    fn run(self, mut part: Acc<'_, u64, Append>) {
        part.add(1);
    }
}
portable!(One, "one");

fn main() {}
