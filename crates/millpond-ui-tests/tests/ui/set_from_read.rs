//! A parent sets what it declared to read.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.read(), |s, a| s.set(&a, 2));
    })?;
    Ok(())
}
