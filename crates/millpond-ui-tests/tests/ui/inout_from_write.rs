//! A child updates what its parent declared to write.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.write(), |s, a| {
            s.spawn(a.inout(), |a| *a += 1);
        });
    })?;
    Ok(())
}
