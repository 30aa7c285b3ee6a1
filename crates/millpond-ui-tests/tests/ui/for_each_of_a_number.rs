//! A loop is given a datum that has no elements.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, number) = (Runtime::new()?, Handle::new(1.0));
    rt.scope(|s| {
        s.for_each(number.inout(), |n| *n += 1.0);
    })?;
    Ok(())
}
