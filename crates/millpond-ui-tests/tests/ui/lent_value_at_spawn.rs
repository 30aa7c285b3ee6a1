//! A scope spawns a task on a datum while it borrows the value.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut a = Handle::new(1);
    rt.scope(|s| {
        let value = s.wait_on(&mut a).unwrap();
        s.spawn(a.inout(), |a| *a += 1);
        println!("{}", *value);
    })?;
    Ok(())
}
