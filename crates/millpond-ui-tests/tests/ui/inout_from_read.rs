//! A child changes what its parent declared to read.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.read(), |s, a| {
            s.spawn(a.inout(), |a| *a += 1);
        });
    })?;
    Ok(())
}
