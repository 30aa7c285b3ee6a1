//! A scope is kept and used after its end.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut kept = None;
    rt.scope(|s| kept = Some(s))?;
    kept.unwrap().spawn((), |()| ());
    Ok(())
}
