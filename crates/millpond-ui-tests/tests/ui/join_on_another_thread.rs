//! A join leaves the thread of its scope.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let join = s.spawn((), |()| 1);
        std::thread::scope(|threads| {
            threads.spawn(move || drop(join));
        });
    })?;
    Ok(())
}
