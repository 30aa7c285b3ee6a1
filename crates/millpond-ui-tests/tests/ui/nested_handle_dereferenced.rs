//! A parent reads a handle as a leaf reads a reference.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.read(), |_, a| println!("{}", *a));
    })?;
    Ok(())
}
