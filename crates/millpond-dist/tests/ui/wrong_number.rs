//! The spawn passes one access too few.

use millpond::{Handle, Out, Runtime};
use millpond_dist::{Portable, R, SpawnPortable, W, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Double;

impl Portable for Double {
    type Access = (R<u64>, W<u64>);
    fn run(self, (a, r): (&u64, Out<u64>)) {
        r.set(2 * a);
    }
}
portable!(Double, "double");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, a, r) = (Runtime::new()?, Handle::new(1_u64), Handle::<u64>::unset());
    rt.scope(|s| {
        s.spawn_portable(a.read(), Double);
    })?;
    Ok(())
}
