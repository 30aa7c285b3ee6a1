//! A loop is given a whole datum, and not its elements or chunks.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, numbers) = (Runtime::new()?, Handle::new(vec![1; 100]));
    rt.scope(|s| {
        s.for_each(numbers.inout(), |n| *n += 1);
    })?;
    Ok(())
}
