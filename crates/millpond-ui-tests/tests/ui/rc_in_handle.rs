//! A task gets what must stay on its thread.

use millpond::{Handle, Runtime, Spawn};
use std::rc::Rc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(Rc::new(1));
    rt.scope(|s| {
        s.spawn(a.inout(), |a| *a = Rc::new(2));
    })?;
    Ok(())
}
