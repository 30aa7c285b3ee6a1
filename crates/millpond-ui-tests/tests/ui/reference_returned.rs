//! A body returns its reference.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.spawn(a.inout(), |a| a);
    })?;
    Ok(())
}
