//! Matrices made from a seed. Entry `(i, j)` depends only on the seed, `i` and `j`.

use super::Matrix;

/// A symmetric positive definite matrix of order `n`. Its diagonal is `n`, and the other entries
/// are in (-1/2, 1/2). So it is strictly diagonally dominant.
pub fn positive_definite(n: usize, seed: u64) -> Matrix {
    let mut a = Matrix::zeros(n, n);
    for j in 0..n {
        a.put(j, j, n as f64);
        for i in j + 1..n {
            let value = entry(seed, i, j);
            a.put(i, j, value);
            a.put(j, i, value);
        }
    }
    a
}

/// A matrix of numbers in (-1/2, 1/2).
pub fn uniform(rows: usize, cols: usize, seed: u64) -> Matrix {
    let mut a = Matrix::zeros(rows, cols);
    for j in 0..cols {
        for (i, value) in a.col_mut(j).iter_mut().enumerate() {
            *value = entry(seed, i, j);
        }
    }
    a
}

/// The entry `(i, j)` of the matrix with this seed.
fn entry(seed: u64, i: usize, j: usize) -> f64 {
    let place = (i as u64) << 32 | j as u64;
    let bits = mix(place ^ mix(seed));
    (bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

/// The output function of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014).
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
