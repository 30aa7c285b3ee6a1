//! One struct is a leaf and a parent.

use millpond::{Handle, Out, Runtime};
use millpond_dist::{Handles, ParentScope, Portable, PortableParent, SpawnPortable, W, portable};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct One;

impl Portable for One {
    type Access = W<u64>;
    fn run(self, r: Out<'_, u64>) {
        r.set(1);
    }
}
impl PortableParent for One {
    type Access = W<u64>;
    fn run<'t>(self, s: &impl ParentScope<'t>, r: Handles<'t, Self>) {
        s.set(&r, 1);
    }
}
portable!(One, "one");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, r) = (Runtime::new()?, Handle::unset());
    rt.scope(|s| {
        s.nest_portable(r.write(), One);
    })?;
    Ok(())
}
