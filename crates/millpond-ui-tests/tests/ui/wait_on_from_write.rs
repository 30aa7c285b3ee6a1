//! A parent waits for a value that it declared to write.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.write(), |s, mut a| {
            let _ = s.wait_on(&mut a);
        });
    })?;
    Ok(())
}
