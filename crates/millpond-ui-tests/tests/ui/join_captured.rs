//! A task captures the join of another one instead of reading what that one writes.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let join = s.spawn((), |()| 1);
        s.spawn((), move |()| join.is_done());
    })?;
    Ok(())
}
