//! A program asks a join for its value as it would ask a `Result`.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let six: i32 = rt.try_scope(|s| Ok::<i32, millpond::Error>(s.spawn((), |()| 6)?))?;
    assert_eq!(six, 6);
    let _handle = Handle::new(six);
    Ok(())
}
