//! A body assigns to what it must set.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.spawn(a.write(), |mut a| *a = 3);
    })?;
    Ok(())
}
