//! Two tasks capture one variable mutably.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut sum = 0;
    rt.scope(|s| {
        s.spawn((), |()| sum += 1);
        s.spawn((), |()| sum += 2);
    })?;
    Ok(())
}
