//! A task captures mutably what the scope's closure reads before the task has ended.

use millpond::{Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut sum = 0;
    rt.scope(|s| {
        s.spawn((), |()| sum += 1);
        println!("{sum}");
    })?;
    Ok(())
}
