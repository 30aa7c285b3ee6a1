//! A reduction appends to what does not grow.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1_u32);
    rt.scope(|s| {
        s.spawn(a.reduce(millpond::Append), |a| *a += 1);
    })?;
    Ok(())
}
