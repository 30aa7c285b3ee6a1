//! A second handle for one datum.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    let b = a.clone();
    rt.scope(|s| {
        s.spawn((a.inout(), b.inout()), |(a, b)| *a += *b);
    })?;
    Ok(())
}
