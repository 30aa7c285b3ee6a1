//! Conway's Game of Life on bands of rows. A function takes handles and spawns tasks. It works in a
//! whole program, and in the body of a task.

use millpond::{Handle, Runtime, Spawn};

const BANDS: usize = 6;
const ROWS: usize = 8;
const COLUMNS: usize = 64;
const STEPS: usize = 40;

type Band = Vec<[bool; COLUMNS]>;

/// The next state of a band between two others, on a torus.
fn next(above: &Band, band: &Band, below: &Band) -> Band {
    let row = |r: usize| match r {
        0 => &above[above.len() - 1],
        r if r <= band.len() => &band[r - 1],
        _ => &below[0],
    };
    let alive = |r: usize, c: usize| {
        let around = (0..9).filter(|&at| at != 4 && row(r + at / 3 - 1)[(c + COLUMNS + at % 3 - 1) % COLUMNS]).count();
        around == 3 || around == 2 && row(r)[c]
    };
    (1..=band.len()).map(|r| std::array::from_fn(|c| alive(r, c))).collect()
}

/// Spawns the tasks of one step: reads `now`, writes `then`.
fn step<'s, S: Spawn<'s>>(s: &S, now: &[Handle<Band, S::Brand>], then: &[Handle<Band, S::Brand>]) {
    for b in 0..BANDS {
        let (above, below) = (&now[(b + BANDS - 1) % BANDS], &now[(b + 1) % BANDS]);
        s.task("life").index([b]).spawn(
            (above.read(), now[b].read(), below.read(), then[b].write()),
            |(a, b, c, out)| {
                out.set(next(a, b, c));
            },
        );
    }
}

/// A glider in the first band, and some noise in the others.
fn start(b: usize) -> Band {
    let glider = [(1, 2), (2, 3), (3, 1), (3, 2), (3, 3)];
    let alive = |r, c| if b == 0 { glider.contains(&(r, c)) } else { (b * 31 + r * 17 + c * c * 7) % 11 < 3 };
    (0..ROWS).map(|r| std::array::from_fn(|c| alive(r, c))).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut now: Vec<_> = (0..BANDS).map(|b| Handle::new(start(b))).collect();
    let mut then: Vec<_> = (0..BANDS).map(|_| Handle::unset()).collect();
    rt.scope(|s| {
        for _ in 0..STEPS {
            step(s, &now, &then);
            std::mem::swap(&mut now, &mut then);
        }
    })?;
    let mut parallel = Band::new();
    for band in now {
        parallel.extend(band.into_inner()?);
    }
    // The serial program: one band that is its own neighbour.
    let serial = (0..STEPS).fold((0..BANDS).flat_map(start).collect::<Band>(), |all, _| next(&all, &all, &all));
    assert_eq!(parallel, serial);
    println!("{} cells are alive after {STEPS} steps", parallel.iter().flatten().filter(|&&alive| alive).count());
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
