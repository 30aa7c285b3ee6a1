//! A joiner outlives the closure that it was lent to.

use millpond::{Joiner, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|_| {
        let joiner = Joiner::with(|joiner| joiner);
        joiner.join(|_| (), |_| ());
    })?;
    Ok(())
}
