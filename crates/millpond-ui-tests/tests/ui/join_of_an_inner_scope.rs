//! A parent hands the join of a child to another child.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|s| {
        s.nest((), |s, ()| {
            let join = s.spawn((), |()| 1);
            s.nest((), move |s, ()| s.wait(join).unwrap());
        });
    })?;
    Ok(())
}
