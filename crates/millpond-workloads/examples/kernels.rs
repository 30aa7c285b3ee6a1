//! Measures the kernels on tiles in the cache, and another library's product: `cargo run --profile
//! max -p millpond-workloads --example kernels [TILE]`.

use millpond_workloads::matrix::{Tile, generate, kernels};
use std::time::Instant;

fn main() {
    let tile = std::env::args().nth(1).map_or(125, |tile| tile.parse().expect("a number"));
    hot_tiles(tile);
}

fn report(what: &str, operations: f64, seconds: f64) {
    println!("{what:24} {:10.1} us {:6.1} GFLOP/s", seconds * 1e6, operations / seconds * 1e-9);
}

/// Each kernel on tiles that stay in the cache.
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
    // SAFETY: the three views have the sizes and strides given, and `c`, borrowed mutably, overlaps
    // neither other.
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

/// The minimum time of a call.
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
