//! A scope waits for a tile of a grid that is not `mut`.

use millpond::{Grid, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let grid = Grid::new(2, 2, |row, col| row + col);
    rt.scope(|s| {
        let _ = s.wait_on(&mut grid[(0, 0)]);
    })?;
    Ok(())
}
