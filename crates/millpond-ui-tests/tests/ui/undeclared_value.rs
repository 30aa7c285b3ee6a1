//! A body reaches for the value of a datum that its task did not declare, and that later tasks use.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, mut b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.spawn(a.inout(), |a| *a += *b.get_mut().unwrap());
        s.spawn(b.inout(), |b| *b += 1);
    })?;
    Ok(())
}
