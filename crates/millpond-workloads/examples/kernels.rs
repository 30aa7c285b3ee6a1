//! The kernels on hot tiles, the serial tile factorisation, and faer's own factorisation with 1 and 2 threads:
//! `cargo run --release -p millpond-workloads --example kernels [N] [TILE]`.

use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use millpond_workloads::cholesky;
use millpond_workloads::matrix::{Grid, Matrix, Tile, generate, kernels};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (n, tile) = (args.next().unwrap_or(4000), args.next().unwrap_or(125));
    hot_tiles(tile);
    let a = generate::positive_definite(n, 1);
    let operations = (n as f64).powi(3) / 3.0;
    // By turns, so that all see the same machine.
    for _ in 0..5 {
        report("cholesky, tiles, 1 thread", operations, tiles(&a, tile));
        report("cholesky, faer, 1 thread", operations, faers(&a, Par::Seq));
        report("cholesky, faer, 2 threads", operations, faers(&a, Par::rayon(2)));
    }
}

fn report(what: &str, operations: f64, seconds: f64) {
    println!("{what:28} {:10.1} us {:6.1} GFLOP/s", seconds * 1e6, operations / seconds * 1e-9);
}

/// The serial tile factorisation.
fn tiles(a: &Matrix, tile: usize) -> f64 {
    let mut tiles = Grid { n: a.rows(), tile }.cut_lower(a);
    let start = Instant::now();
    cholesky::serial(&mut tiles, &cholesky::Pivot::default());
    start.elapsed().as_secs_f64()
}

/// faer's factorisation of the whole matrix.
fn faers(a: &Matrix, par: Par) -> f64 {
    let mut l = a.clone();
    let scratch = cholesky_in_place_scratch::<f64>(a.rows(), par, Default::default());
    let mut buffer = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut buffer);
    let start = Instant::now();
    cholesky_in_place(l.view_mut(), Default::default(), par, stack, Default::default()).expect("positive definite");
    start.elapsed().as_secs_f64()
}

/// Each kernel on tiles that stay in cache.
fn hot_tiles(b: usize) {
    let cube = (b as f64).powi(3);
    let cut = |seed| Tile::cut(&generate::uniform(b, b, seed), 0, 0, b, b);
    let (x, y, mut c) = (cut(1), cut(2), cut(3));
    let definite = Tile::cut(&generate::positive_definite(b, 1), 0, 0, b, b);
    let mut l = definite.clone();
    kernels::potrf(&mut l).expect("positive definite");
    report("gemm, faer", 2.0 * cube, least(|| kernels::gemm_nt(&x, &y, &mut c)));
    report("gemm, matrixmultiply", 2.0 * cube, least(|| peer_gemm(&x, &y, &mut c)));
    report("syrk, faer", cube, least(|| kernels::syrk(&x, &mut c)));
    report("trsm and a copy, faer", cube, least(|| kernels::trsm(&l, &mut x.clone())));
    report(
        "potrf and a copy, faer",
        cube / 3.0,
        least(|| kernels::potrf(&mut definite.clone()).expect("positive definite")),
    );
}

/// `c := c - a b^T` by matrixmultiply.
fn peer_gemm(a: &Tile, b: &Tile, c: &mut Tile) {
    let (a, b, c) = (a.view(), b.view(), c.view_mut());
    let (m, k, n) = (a.nrows(), a.ncols(), b.nrows());
    let (rs, cs) = (c.row_stride(), c.col_stride());
    // SAFETY: the three views have the sizes and strides given, and `c`, borrowed mutably, overlaps neither other.
    unsafe {
        matrixmultiply::dgemm(
            m,
            k,
            n,
            -1.0,
            a.as_ptr(),
            a.row_stride(),
            a.col_stride(),
            b.as_ptr(),
            b.col_stride(),
            b.row_stride(),
            1.0,
            c.as_ptr_mut(),
            rs,
            cs,
        );
    }
}

/// The least time of a call.
fn least(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 200;
    let mut least = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        least = least.min(start.elapsed().as_secs_f64() / f64::from(CALLS));
    }
    least
}
