//! A child borrows a local of its parent's body, which ends before the child.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        s.nest(a.inout(), |s, a| {
            let local = String::from("two");
            s.spawn(a.inout(), |a| *a += local.len());
        });
    })?;
    Ok(())
}
