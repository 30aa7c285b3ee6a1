//! A name outlives its task: errors, recordings and dumps have it.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let names = [String::from("one"), String::from("two")];
    rt.scope(|s| {
        for name in &names {
            s.task(name).spawn((), |()| ());
        }
    })?;
    Ok(())
}
