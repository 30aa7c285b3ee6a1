//! The body of an optional access uses its argument as if it were there.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, a) = (Runtime::new()?, Handle::new(1));
    rt.scope(|s| {
        s.spawn(Some(&a).map(Handle::inout), |a| *a += 1);
    })?;
    Ok(())
}
