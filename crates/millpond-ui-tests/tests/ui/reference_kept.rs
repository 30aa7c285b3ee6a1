//! A body keeps its reference in a captured place.

use millpond::{Handle, Runtime, Spawn};
use std::sync::Mutex;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    let kept = Mutex::new(Vec::new());
    rt.scope(|s| {
        s.spawn(a.inout(), |a| kept.lock().unwrap().push(a));
    })?;
    Ok(())
}
