//! A scope waits for a value through a shared reference.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, a) = (Runtime::new()?, Handle::new(1));
    rt.scope(|s| {
        s.spawn(a.inout(), |a| *a += 1);
        let _ = s.wait_on(&a);
    })?;
    Ok(())
}
