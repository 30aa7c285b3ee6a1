//! A body borrows from the handle that it was given: other tasks of its scope may use the value.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.inout(), |_s, a| println!("{}", *a.get().unwrap()));
    })?;
    Ok(())
}
