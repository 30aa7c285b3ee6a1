//! A child updates what its parent declared to read.

use millpond::{Handle, Runtime, Spawn};
use std::sync::atomic::AtomicU32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(AtomicU32::new(1));
    rt.scope(|s| {
        s.nest(a.read(), |s, a| {
            s.spawn(a.concurrent(), |_a| ());
        });
    })?;
    Ok(())
}
