//! A struct that is not a task, where a task is needed.

use millpond::{Handle, Runtime};
use millpond_dist::SpawnPortable;

struct One;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, r) = (Runtime::new()?, Handle::<u64>::unset());
    rt.scope(|s| {
        s.spawn_portable(r.write(), One);
    })?;
    Ok(())
}
