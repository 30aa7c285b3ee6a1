//! Heat in a plate, on `ndarray`. Each tile of each step needs its own cells of the step before and
//! the edges of its four neighbours. There is no barrier between steps, so tiles in one corner can
//! be several steps ahead of those in another.

use millpond::{Grid, Handle, Runtime, Spawn};
use ndarray::{Array2, ArrayView1, Axis, s};

const TILES: usize = 4;
const CELLS: usize = 64;
const STEPS: usize = 30;

type Tile = Array2<f64>;

/// One step. `edges` are the cells above, left, right and below. There are none at the border.
fn step(tile: &Tile, edges: [Option<ArrayView1<'_, f64>>; 4]) -> Tile {
    let (rows, columns) = tile.dim();
    let mut framed = Tile::zeros((rows + 2, columns + 2));
    framed.slice_mut(s![1..=rows, 1..=columns]).assign(tile);
    let [above, left, right, below] = edges;
    let places = [s![0, 1..=columns], s![1..=rows, 0], s![1..=rows, columns + 1], s![rows + 1, 1..=columns]];
    for (edge, place) in [above, left, right, below].into_iter().zip(places) {
        if let Some(edge) = edge {
            framed.slice_mut(place).assign(&edge);
        }
    }
    let at = |r, c| framed[[r, c]];
    Tile::from_shape_fn((rows, columns), |(r, c)| {
        let (r, c) = (r + 1, c + 1);
        at(r, c) + 0.1 * (at(r - 1, c) + at(r, c - 1) + at(r, c + 1) + at(r + 1, c) - 4.0 * at(r, c))
    })
}

/// The first temperatures: one hot corner and one hot spot.
fn start(r: usize, c: usize) -> f64 {
    if r < 8 && c < 8 { 500.0 } else { f64::from(u8::from((r, c) == (130, 200))) * 1000.0 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let tile = |i, j| Tile::from_shape_fn((CELLS, CELLS), |(r, c)| start(i * CELLS + r, j * CELLS + c));
    let mut now = Grid::new(TILES, TILES, tile);
    let mut next = Grid::unset(TILES, TILES);
    rt.scope(|scope| {
        for _ in 0..STEPS {
            for ((i, j), out) in next.indexed() {
                // Tiles at the border have fewer neighbours: an access may be absent.
                let [above, left, right, below] = now.neighbours(i, j).map(|cell| cell.map(Handle::read));
                let reads = (above, left, now[(i, j)].read(), right, below);
                scope.task("tile").index([i, j]).spawn(
                    (reads, out.write()),
                    |((above, left, tile, right, below), out)| {
                        let (above, left) = (above.map(|t| t.row(CELLS - 1)), left.map(|t| t.column(CELLS - 1)));
                        let (right, below) = (right.map(|t| t.column(0)), below.map(|t| t.row(0)));
                        out.set(step(tile, [above, left, right, below]));
                    },
                );
            }
            // `write` starts a new version: the next step does not wait for readers of the old one.
            std::mem::swap(&mut now, &mut next);
        }
    })?;
    let rows: Vec<_> = now.into_tiles()?.iter().map(|row| join(Axis(1), row)).collect();
    let parallel = join(Axis(0), &rows);
    let plate = Tile::from_shape_fn((TILES * CELLS, TILES * CELLS), |(r, c)| start(r, c));
    let serial = (0..STEPS).fold(plate, |plate, _| step(&plate, [None; 4]));
    assert_eq!(parallel, serial);
    println!("{} cells, {STEPS} steps: the same as the serial program", serial.len());
    Ok(())
}

/// Puts arrays side by side.
fn join(axis: Axis, parts: &[Tile]) -> Tile {
    ndarray::concatenate(axis, &parts.iter().map(Tile::view).collect::<Vec<_>>()).expect("tiles of equal size")
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
