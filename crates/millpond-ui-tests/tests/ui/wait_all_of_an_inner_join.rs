//! A scope waits for its own task together with one of an inner scope.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        let mut joins = vec![s.spawn((), |()| 1)];
        s.nest((), |s, ()| joins.push(s.spawn((), |()| 2)));
        let _ = s.wait_all(joins);
    })?;
    Ok(())
}
