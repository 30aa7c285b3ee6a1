//! A parent waits for a task of the scope around it.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(1);
    rt.scope(|s| {
        let join = s.spawn((), |()| 1);
        s.nest(a.inout(), move |s, _a| {
            let _ = s.wait(join);
        });
    })?;
    Ok(())
}
