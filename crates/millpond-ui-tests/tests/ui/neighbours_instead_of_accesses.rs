//! A task names the neighbours of a tile, but not what it does to them.

use millpond::{Grid, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, grid) = (Runtime::new()?, Grid::new(2, 2, |row, col| row + col));
    rt.scope(|s| {
        s.spawn(grid.neighbours(0, 0), |_around| ());
    })?;
    Ok(())
}
