//! A body returns an `Err` that is no error.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        s.try_spawn((), |()| Err::<(), u32>(1));
    })?;
    Ok(())
}
