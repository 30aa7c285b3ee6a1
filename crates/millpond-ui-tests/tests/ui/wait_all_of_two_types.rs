//! A scope waits together for tasks that return different types.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let _ = s.wait_all([s.spawn((), |()| 1), s.spawn((), |()| "one")]);
    })?;
    Ok(())
}
