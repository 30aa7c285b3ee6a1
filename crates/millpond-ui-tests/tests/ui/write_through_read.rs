//! A body changes what its task declared to read.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.spawn(a.read(), |a| *a += 1);
    })?;
    Ok(())
}
