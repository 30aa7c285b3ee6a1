//! A borrowed text is a name only if it lives as long as the program.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let name = String::from("one");
    rt.scope(|s| {
        s.task(name.as_str()).spawn((), |()| ());
    })?;
    Ok(())
}
