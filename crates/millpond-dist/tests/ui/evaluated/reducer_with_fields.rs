//! A reducer that holds a value, which another process would not know.

use millpond::Reducer;
use millpond_dist::{Cw, Portable, portable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Modulo {
    n: u64,
}

impl Reducer<u64> for Modulo {
    fn identity(&self, _like: &u64) -> u64 {
        0
    }
    fn combine(&self, into: &mut u64, part: u64) {
        *into = (*into + part) % self.n;
    }
}

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = Cw<u64, Modulo>;
    fn run(self, part: &mut u64) {
        *part += 1;
    }
}
portable!(One, "one");

fn main() {}
