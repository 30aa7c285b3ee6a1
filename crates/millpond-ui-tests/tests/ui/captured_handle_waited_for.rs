//! A parent waits for a handle that it captured instead of declaring.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, mut b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.nest(a.inout(), |s, _a| {
            let _ = s.wait_on(&mut b);
        });
    })?;
    Ok(())
}
