//! A half of a join uses the joiner of another one, which may be on another thread.

use millpond::{Joiner, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    rt.scope(|_| {
        Joiner::with(|joiner| {
            joiner.join(|_| (), |_| drop(joiner.join(|_| (), |_| ())));
        });
    })?;
    Ok(())
}
