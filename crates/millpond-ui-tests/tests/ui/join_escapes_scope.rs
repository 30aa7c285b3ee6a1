//! A join outlives its scope.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let _join = rt.scope(|s| s.spawn((), |()| 1))?;
    Ok(())
}
