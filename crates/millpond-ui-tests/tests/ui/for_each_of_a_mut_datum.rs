//! A loop declares a second datum that each item would have alone.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (numbers, sum) = (Handle::new(vec![1; 100]), Handle::new(0));
    rt.scope(|s| {
        s.for_each((numbers.inout(), sum.inout()), |(n, sum)| *sum += *n);
    })?;
    Ok(())
}
