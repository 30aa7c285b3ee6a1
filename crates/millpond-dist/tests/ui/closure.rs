//! A closure where a portable task is needed.

use millpond::{Handle, Out, Runtime};
use millpond_dist::SpawnPortable;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, r) = (Runtime::new()?, Handle::unset());
    rt.scope(|s| {
        s.spawn_portable(r.write(), |r: Out<'_, u64>| r.set(1));
    })?;
    Ok(())
}
