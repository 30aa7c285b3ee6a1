//! A task is spawned on a datum while its scope looks at the value.

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
