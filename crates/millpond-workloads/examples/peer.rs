//! Compares the tile factorisation with faer's own, on the same matrix, in turns: `cargo run
//! --profile max -p millpond-workloads --example peer [N] [TILE] [WORKERS] [REPS]`.

use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use millpond::{Handle, Runtime};
use millpond_workloads::cholesky::{self, Pivot, THRESHOLD, scaled_residual};
use millpond_workloads::matrix::{Grid, Matrix, generate};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let mut next = |default| args.next().unwrap_or(default);
    let (n, tile, workers, reps) = (next(4000), next(125), next(2), next(7));
    assert!(n > 0 && (1..=n).contains(&tile) && workers > 0 && reps > 0, "N, TILE (at most N), WORKERS, REPS");
    let a = generate::positive_definite(n, 1);
    let runtime = |workers| Runtime::builder().workers(workers).build().expect("a runtime");
    let (one, many) = (runtime(1), runtime(workers));
    let ways: [(&str, usize, &dyn Fn() -> (f64, Matrix)); 4] = [
        ("ours", 1, &|| ours(&a, tile, &one)),
        ("ours", workers, &|| ours(&a, tile, &many)),
        ("faer", 1, &|| faers(&a, Par::Seq)),
        ("faer", workers, &|| faers(&a, Par::rayon(workers))),
    ];
    let mut seconds = ways.map(|_| Vec::new());
    let mut worst = [0.0f64; 4];
    for rep in 0..=reps {
        for (k, (.., factor)) in ways.iter().enumerate() {
            let (took, l) = factor();
            // The first round warms up threads, stacks and memory.
            if rep > 0 {
                seconds[k].push(took);
            }
            worst[k] = worst[k].max(scaled_residual(&a, &l));
        }
    }
    println!("n {n}, tile {tile}, {reps} alternating repetitions, without copying the matrix");
    for (k, (name, threads, _)) in ways.iter().enumerate() {
        seconds[k].sort_by(f64::total_cmp);
        let (median, least) = (median(&seconds[k]), seconds[k][0]);
        let rate = (n as f64).powi(3) / 3.0 / median * 1e-9;
        println!(
            "{name} {threads:3}  median {median:.4} s  least {least:.4} s  {rate:6.1} GFLOP/s  residual {:.3}",
            worst[k]
        );
    }
    let ratio = |of: usize, to: usize| {
        let medians = median(&seconds[of]) / median(&seconds[to]);
        format!("{medians:.3} by medians, {:.3} by the least", seconds[of][0] / seconds[to][0])
    };
    println!("time of ours {workers} / ours 1: {}", ratio(1, 0));
    println!("time of ours {workers} / faer {workers}: {}", ratio(1, 3));
    println!("time of ours 1 / faer 1: {}", ratio(0, 2));
    assert!(worst.iter().all(|residual| *residual < THRESHOLD), "a factor is wrong");
}

/// The time from the first spawn to the completed scope, and the factor.
fn ours(a: &Matrix, tile: usize, runtime: &Runtime) -> (f64, Matrix) {
    let grid = Grid { n: a.rows(), tile };
    let tiles: Vec<Vec<_>> =
        grid.cut_lower(a).into_iter().map(|row| row.into_iter().map(Handle::new).collect()).collect();
    let pivot = Pivot::default();
    let start = Instant::now();
    runtime.scope(|s| cholesky::tasks(s, &tiles, &pivot)).expect("the tasks");
    let took = start.elapsed().as_secs_f64();
    let row = |row: Vec<Handle<_>>| row.into_iter().map(|h| h.into_inner().expect("a tile")).collect();
    (took, grid.join_lower(&tiles.into_iter().map(row).collect::<Vec<Vec<_>>>()))
}

/// The time of the call alone, and the factor.
fn faers(a: &Matrix, par: Par) -> (f64, Matrix) {
    let mut l = a.clone();
    let mut buffer = MemBuffer::new(cholesky_in_place_scratch::<f64>(a.rows(), par, Default::default()));
    let stack = MemStack::new(&mut buffer);
    let start = Instant::now();
    cholesky_in_place(l.view_mut(), Default::default(), par, stack, Default::default()).expect("positive definite");
    let took = start.elapsed().as_secs_f64();
    for j in 1..l.cols() {
        l.col_mut(j)[..j].fill(0.0);
    }
    (took, l)
}

/// The median of sorted numbers.
fn median(sorted: &[f64]) -> f64 {
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}
