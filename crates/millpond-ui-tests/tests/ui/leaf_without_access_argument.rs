//! A body takes no argument though its task declares nothing: it takes the empty tuple.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        s.spawn((), || ());
    })?;
    Ok(())
}
