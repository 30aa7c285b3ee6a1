//! The accesses in a `Vec` are of one kind.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.spawn(vec![a.read(), b.inout()], |_| ());
    })?;
    Ok(())
}
