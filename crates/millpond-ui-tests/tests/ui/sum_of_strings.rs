//! A reduction over what its reducer cannot combine.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(String::new());
    rt.scope(|s| {
        s.spawn(a.reduce(millpond::Sum), |a| a.push('x'));
    })?;
    Ok(())
}
