//! A parent changes what it declared to read, through `wait_on`.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.read(), |s, mut a| {
            *s.wait_on(&mut a).unwrap() += 1;
        });
    })?;
    Ok(())
}
