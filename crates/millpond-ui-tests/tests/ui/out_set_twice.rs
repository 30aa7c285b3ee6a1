//! A body sets what it writes twice.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.spawn(a.write(), |a| {
            a.set(1);
            a.set(2);
        });
    })?;
    Ok(())
}
