//! A scope waits for the value of a handle that is not `mut`.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.spawn(a.inout(), |a| *a += 1);
        let _ = s.wait_on(&mut a);
    })?;
    Ok(())
}
