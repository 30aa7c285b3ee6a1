//! A task borrows a local of the scope's closure, which may end before the task.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        let local = 2;
        s.spawn(a.inout(), |a| *a += local);
    })?;
    Ok(())
}
