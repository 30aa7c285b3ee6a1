//! A parent hands the grid of its handles to a child that did not declare them.

use millpond::{Grid, Handle, Runtime, Spawn, all};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rt, grid) = (Runtime::new()?, Grid::new(2, 2, |row, col| row + col));
    rt.scope(|s| {
        s.nest(all(&grid, Handle::inout), |s, tiles| {
            let grid = Grid::from_handles(2, 2, tiles);
            s.nest((), move |s, ()| {
                s.spawn(grid[(0, 1)].inout(), |tile| *tile += 1);
            });
        });
    })?;
    Ok(())
}
