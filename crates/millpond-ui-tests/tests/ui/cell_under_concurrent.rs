//! Concurrent tasks would race on a cell.

use millpond::{Handle, Runtime, Spawn};
use std::cell::Cell;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let a = Handle::new(Cell::new(1));
    rt.scope(|s| {
        s.spawn(a.concurrent(), |a| a.set(2));
    })?;
    Ok(())
}
