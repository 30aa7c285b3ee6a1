//! A leaf waits for a datum.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, mut b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.spawn(a.inout(), |a| *a += *s.wait_on(&mut b).unwrap());
    })?;
    Ok(())
}
