//! A task returns what must stay on its thread.

use millpond::{Handle, Runtime, Spawn};
use std::rc::Rc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.spawn(a.read(), |a| Rc::new(*a));
    })?;
    Ok(())
}
