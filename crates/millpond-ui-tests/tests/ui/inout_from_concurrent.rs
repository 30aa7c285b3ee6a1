//! A child changes what its parent declared to update concurrently with others.

use millpond::{Handle, Runtime, Spawn};
use std::sync::atomic::AtomicU32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(AtomicU32::new(1));
    rt.scope(|s| {
        s.nest(a.concurrent(), |s, a| {
            s.spawn(a.inout(), |a| *a = AtomicU32::new(2));
        });
    })?;
    Ok(())
}
