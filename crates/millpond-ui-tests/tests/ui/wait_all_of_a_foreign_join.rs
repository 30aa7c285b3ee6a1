//! A parent waits for several tasks of the scope around it.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let joins = [1, 2].map(|n| s.spawn((), move |()| n));
        s.nest((), move |s, ()| {
            let _ = s.wait_all(joins);
        });
    })?;
    Ok(())
}
