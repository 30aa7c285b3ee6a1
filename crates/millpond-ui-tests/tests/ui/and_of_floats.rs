//! A reduction of bits over numbers that have none to combine.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1.5);
    rt.scope(|s| {
        s.spawn(a.reduce(millpond::And), |a| *a += 1.0);
    })?;
    Ok(())
}
