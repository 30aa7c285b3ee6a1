//! A body uses a datum that its task did not declare.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.spawn(a.inout(), |a| *a += *b);
    })?;
    Ok(())
}
