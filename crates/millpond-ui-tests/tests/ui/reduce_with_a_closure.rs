//! A reduction with a closure, which could not say that it equals another task's.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1_u32);
    rt.scope(|s| {
        s.spawn(a.reduce(|a: u32, b: u32| a + b), |a| *a += 1);
    })?;
    Ok(())
}
