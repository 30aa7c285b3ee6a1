//! A parent hands its handle to a child that did not declare it.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, b) = (Handle::new(1), Handle::new(2));
    rt.scope(|s| {
        s.nest((a.inout(), b.inout()), |s, (a, b)| {
            s.nest(a.inout(), move |s, _a| {
                s.spawn(b.inout(), |b| *b += 1);
            });
        });
    })?;
    Ok(())
}
