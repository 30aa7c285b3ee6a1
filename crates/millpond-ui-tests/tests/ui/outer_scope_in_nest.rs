//! A parent spawns on the scope around it instead of its own.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.nest(a.inout(), |_inner, _a| {
            s.spawn(b.inout(), |b| *b += 1);
        });
    })?;
    Ok(())
}
