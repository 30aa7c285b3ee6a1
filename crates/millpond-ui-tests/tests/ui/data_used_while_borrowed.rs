//! Data is used while a handle that tasks use borrows it.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut numbers = vec![1, 2, 3];
    let a = Handle::new(&mut numbers);
    rt.scope(|s| {
        s.spawn(a.inout(), |numbers| numbers.push(4));
        numbers.push(5);
    })?;
    Ok(())
}
