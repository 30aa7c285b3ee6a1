//! A parent spawns on a handle that is not its own.

use millpond::{Handle, Out, Runtime, Spawn};
use millpond_dist::{Portable, SpawnPortable, W, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = W<u64>;
    fn run(self, r: Out<'_, u64>) {
        r.set(1);
    }
}
portable!(One, "one");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, r) = (Runtime::new()?, Handle::unset());
    rt.scope(|s| {
        s.nest((), |s, ()| {
            s.spawn_portable(r.write(), One);
        });
    })?;
    Ok(())
}
