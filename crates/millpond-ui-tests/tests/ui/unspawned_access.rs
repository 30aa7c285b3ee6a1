//! An access that is declared and not passed on.

#![deny(unused_must_use)]

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        a.inout();
        s.task("named");
        s.spawn(a.write(), |_a| ());
    })?;
    Ok(())
}
