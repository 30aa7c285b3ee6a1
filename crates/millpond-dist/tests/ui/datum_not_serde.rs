//! A datum that cannot be turned into bytes.

use millpond::Out;
use millpond_dist::{Portable, W, portable};
use serde::{Deserialize, Serialize};

struct Matrix;

#[derive(Serialize, Deserialize)]
struct Identity;

impl Portable for Identity {
    type Access = W<Matrix>;
    fn run(self, r: Out<'_, Matrix>) {
        r.set(Matrix);
    }
}
portable!(Identity, "identity");

fn main() {}
