//! More accesses than a portable task can have.

use millpond_dist::{Args, Portable, R, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Many;

impl Portable for Many {
    type Access = (R<u8>, R<u8>, R<u8>, R<u8>, R<u8>, R<u8>, R<u8>, R<u8>, R<u8>);
    fn run(self, _: Args<'_, Self>) {}
}
portable!(Many, "many");

fn main() {}
