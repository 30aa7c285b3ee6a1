//! An item of a loop is kept for after the loop.

use std::sync::Mutex;

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (numbers, kept) = (Handle::new(vec![1; 100]), Mutex::new(None));
    rt.scope(|s| {
        s.for_each(numbers.inout(), |n| *kept.lock().unwrap() = Some(n));
    })?;
    Ok(())
}
