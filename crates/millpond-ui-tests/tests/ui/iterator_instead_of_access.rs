//! A spawn visits its accesses several times; an iterator could give others each time.

use millpond::{Handle, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let cells = vec![Handle::new(1), Handle::new(2)];
    rt.scope(|s| {
        s.spawn(cells.iter().map(Handle::read), |_cells| ());
    })?;
    Ok(())
}
