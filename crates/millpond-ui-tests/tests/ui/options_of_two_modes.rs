//! An optional access has one mode or another.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, a, reads) = (Runtime::new()?, Handle::new(1), true);
    rt.scope(|s| {
        s.spawn(if reads { Some(a.read()) } else { Some(a.inout()) }, |_| ());
    })?;
    Ok(())
}
