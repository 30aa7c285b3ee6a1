//! A handle borrows data that dies before the tasks.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let mut numbers = vec![1, 2, 3];
        let a = Handle::new(&mut numbers);
        s.spawn(a.inout(), |numbers| numbers.push(4));
    })?;
    Ok(())
}
