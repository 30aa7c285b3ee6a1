//! A child reads what its parent declared to write, and whose old value is none of its business.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.write(), |s, a| {
            s.spawn(a.read(), |a| println!("{a}"));
        });
    })?;
    Ok(())
}
