//! A body that declared `read` spawns a loop that changes the elements.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, numbers) = (Runtime::new()?, Handle::new(vec![1; 100]));
    rt.scope(|s| {
        s.nest(numbers.read(), |s, numbers| drop(s.for_each(numbers.iter_mut(), |n| *n += 1)));
    })?;
    Ok(())
}
