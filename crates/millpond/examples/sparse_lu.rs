//! LU factorization of a sparse tiled matrix. The program creates tiles that fill in while the
//! factorization runs. It knows which tiles are empty and decides at the spawn, so the tasks need
//! no locks.

use millpond::{Handle, Runtime, Spawn};

const TILES: usize = 10;
const N: usize = 8;

type Tile = Vec<f64>;
type Matrix = Vec<Vec<Option<Handle<Tile>>>>;

fn input(i: usize, j: usize) -> Option<Tile> {
    let near = i.abs_diff(j) <= 1 || i * j == 0 && (i + j).is_multiple_of(4);
    let cell = |r, c| if i == j && r == c { 40.0 } else { ((i * 7 + j * 3 + r * 5 + c) % 9) as f64 / 10.0 };
    near.then(|| (0..N * N).map(|at| cell(at / N, at % N)).collect())
}

fn eliminate(l: &[f64], b: &mut [f64]) {
    for (k, i) in (0..N).flat_map(|k| (k + 1..N).map(move |i| (k, i))) {
        (0..N).for_each(|j| b[i * N + j] -= l[i * N + k] * b[k * N + j]);
    }
}

fn lu(a: &mut Tile) {
    for (k, i) in (0..N).flat_map(|k| (k + 1..N).map(move |i| (k, i))) {
        a[i * N + k] /= a[k * N + k];
        (k + 1..N).for_each(|j| a[i * N + j] -= a[i * N + k] * a[k * N + j]);
    }
}

fn solve_column(u: &Tile, b: &mut Tile) {
    for (i, k) in (0..N).flat_map(|i| (0..N).map(move |k| (i, k))) {
        b[i * N + k] /= u[k * N + k];
        (k + 1..N).for_each(|j| b[i * N + j] -= b[i * N + k] * u[k * N + j]);
    }
}

fn subtract_product(a: &Tile, b: &Tile, c: &mut Tile) {
    (0..N * N).for_each(|at| c[at] -= (0..N).map(|k| a[at / N * N + k] * b[k * N + at % N]).sum::<f64>());
}

fn factorize<'s, S: Spawn<'s, Brand = millpond::Root>>(s: &S, m: &mut Matrix) {
    for k in 0..TILES {
        let diagonal = m[k][k].as_ref().expect("the diagonal is full");
        s.task("lu").index([k]).spawn(diagonal.inout(), lu);
        for b in m[k][k + 1..].iter().flatten() {
            s.spawn((diagonal.read(), b.inout()), |(l, b)| eliminate(l, b));
        }
        for b in m[k + 1..].iter().filter_map(|row| row[k].as_ref()) {
            s.spawn((diagonal.read(), b.inout()), |(u, b)| solve_column(u, b));
        }
        for (i, j) in (k + 1..TILES).flat_map(|i| (k + 1..TILES).map(move |j| (i, j))) {
            if m[i][k].is_some() && m[k][j].is_some() {
                // An empty tile fills in: the program creates it here, and the task writes it.
                m[i][j].get_or_insert_with(|| Handle::new(vec![0.0; N * N]));
                let [a, b, c] = [&m[i][k], &m[k][j], &m[i][j]].map(|tile| tile.as_ref().expect("it exists"));
                s.spawn((a.read(), b.read(), c.inout()), |(a, b, c)| subtract_product(a, b, c));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = |workers| -> Result<Vec<Tile>, Box<dyn std::error::Error>> {
        let rt = Runtime::builder().workers(workers).build()?;
        let mut m = (0..TILES).map(|i| (0..TILES).map(|j| input(i, j).map(Handle::new)).collect()).collect();
        rt.scope(|s| factorize(s, &mut m))?;
        Ok(m.into_iter().flatten().flatten().map(Handle::into_inner).collect::<Result<_, _>>()?)
    };
    let (one, four) = (run(1)?, run(4)?);
    println!("{} tiles after the factorization", one.len());
    assert_eq!(one, four);
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
