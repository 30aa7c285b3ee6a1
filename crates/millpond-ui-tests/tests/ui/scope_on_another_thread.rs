//! A scope is used from another thread.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        std::thread::scope(|threads| {
            threads.spawn(|| {
                s.spawn((), |()| ());
            });
        });
    })?;
    Ok(())
}
