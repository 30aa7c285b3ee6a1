//! A scope sets a datum while it borrows the value.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut a = Handle::new(1);
    rt.scope(|s| {
        let value = s.wait_on(&mut a).unwrap();
        s.set(&a, 2);
        println!("{}", *value);
    })?;
    Ok(())
}
