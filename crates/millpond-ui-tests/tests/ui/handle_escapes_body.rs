//! A parent's handle outlives its body.

use millpond::{Handle, Runtime, Spawn};
use std::sync::Mutex;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    let kept = Mutex::new(None);
    rt.scope(|s| {
        s.nest(a.inout(), |_s, a| *kept.lock().unwrap() = Some(a));
    })?;
    Ok(())
}
