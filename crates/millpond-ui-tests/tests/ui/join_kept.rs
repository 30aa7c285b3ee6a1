//! A join is kept beyond its scope.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut kept = None;
    rt.scope(|s| kept = Some(s.spawn((), |()| 1)))?;
    drop(kept);
    Ok(())
}
