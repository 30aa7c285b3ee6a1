//! A body takes another number of arguments than were declared.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.spawn((a.read(), b.inout()), |a, b| *b += *a);
    })?;
    Ok(())
}
