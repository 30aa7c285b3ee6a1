//! A parent spawns on a grid of the scope around it.

use millpond::{Grid, Runtime, Spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, grid) = (Runtime::new()?, Grid::new(2, 2, |row, col| row + col));
    rt.scope(|s| {
        s.nest((), |s, ()| {
            s.spawn(grid[(0, 1)].inout(), |tile| *tile += 1);
        });
    })?;
    Ok(())
}
