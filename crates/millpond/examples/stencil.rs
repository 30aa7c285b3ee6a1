//! Heat in a rod. Each tile of each step needs its neighbours of the previous step. There is no
//! barrier between steps, so some tiles are several steps ahead of others.

use millpond::{Handle, Runtime, Spawn};

const TILES: usize = 8;
const CELLS: usize = 1000;
const STEPS: usize = 50;

/// One step of a tile. `left` and `right` are the cells next to it.
fn step(tile: &[f64], left: f64, right: f64) -> Vec<f64> {
    let at = |i: isize| match i {
        -1 => left,
        i if i as usize == tile.len() => right,
        i => tile[i as usize],
    };
    (0..tile.len() as isize).map(|i| at(i) + 0.1 * (at(i - 1) - 2.0 * at(i) + at(i + 1))).collect()
}

/// The first temperatures: a hot spot in the middle.
fn start(i: usize) -> f64 {
    if i == TILES * CELLS / 2 { 1000.0 } else { 0.0 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let tile = |t| (t * CELLS..(t + 1) * CELLS).map(start).collect::<Vec<_>>();
    let mut now: Vec<Handle<Vec<f64>>> = (0..TILES).map(|t| Handle::new(tile(t))).collect();
    let mut next: Vec<Handle<Vec<f64>>> = (0..TILES).map(|_| Handle::unset()).collect();

    rt.scope(|s| {
        for _ in 0..STEPS {
            for t in 0..TILES {
                // The tiles at the ends have one neighbour; an access may be absent.
                let left = t.checked_sub(1).map(|left| now[left].read());
                let right = now.get(t + 1).map(Handle::read);
                s.spawn((left, now[t].read(), right, next[t].write()), |(left, tile, right, out)| {
                    let (left, right) = (left.map_or(0.0, |left| left[CELLS - 1]), right.map_or(0.0, |right| right[0]));
                    out.set(step(tile, left, right));
                });
            }
            // `write` starts a new version: the next step does not wait for readers of the old one.
            std::mem::swap(&mut now, &mut next);
        }
    })?;

    let mut parallel = Vec::new();
    for tile in now {
        parallel.extend(tile.into_inner()?);
    }
    let serial = (0..STEPS).fold((0..TILES * CELLS).map(start).collect::<Vec<_>>(), |rod, _| step(&rod, 0.0, 0.0));
    assert_eq!(parallel, serial);
    println!("{} cells, {STEPS} steps: the same as the serial program", serial.len());
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
