//! The body of a loop reaches for a datum that the loop did not declare, and that later tasks use.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (a, mut b) = (Handle::new(vec![1; 100]), Handle::new(2));
    rt.scope(|s| {
        s.for_each(a.inout(), |a| *a += *b.get_mut().unwrap());
        s.spawn(b.inout(), |b| *b += 1);
    })?;
    Ok(())
}
