//! The body of a loop shares a cell between threads.

use std::cell::Cell;

use millpond::{Runtime, for_each};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, sum) = (Runtime::new()?, Cell::new(0));
    rt.scope(|_| for_each(0..100, |i| sum.set(sum.get() + i)))?;
    Ok(())
}
