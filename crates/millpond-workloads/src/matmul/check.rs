//! Is the product right? Freivalds' test ("Probabilistic machines can use less running time", IFIP 1977): compare
//! `C x` with `A (B x)` for random vectors `x` of 1 and -1, in O(n^2) instead of the O(n^3) of a second product.
//!
//! An entry of `C` that is wrong by `d` moves an entry of `C x` by `d`; several wrong entries of a row cancel in
//! at most half of the vectors, so with 20 of them an error is missed with probability 2^-20 at most. What rounding
//! may do is bounded by `n eps (|A| |B|) 1`; the error is scaled by that, so that a right product stays below 1.

use crate::matrix::{Matrix, generate};

/// A product whose scaled error is below this is right.
pub const THRESHOLD: f64 = 1.0;

const VECTORS: u64 = 20;

/// The error of `c` as the product of `a` and `b`, in units of what rounding may do.
pub fn scaled_error(a: &Matrix, b: &Matrix, c: &Matrix, seed: u64) -> f64 {
    let n = a.rows();
    let allowed = times(a, &times(b, &vec![1.0; n], f64::abs), f64::abs);
    let mut worst = 0.0f64;
    for vector in 0..VECTORS {
        let x: Vec<f64> = (0..n as u64).map(|i| sign(seed, vector * n as u64 + i)).collect();
        let wanted = times(a, &times(b, &x, |v| v), |v| v);
        let found = times(c, &x, |v| v);
        for ((wanted, found), allowed) in wanted.iter().zip(&found).zip(&allowed) {
            let error = (wanted - found).abs() / (n as f64 * f64::EPSILON * allowed).max(f64::MIN_POSITIVE);
            worst = if error.is_finite() { worst.max(error) } else { f64::MAX };
        }
    }
    worst
}

fn sign(seed: u64, i: u64) -> f64 {
    if generate::mix(seed ^ generate::mix(i)) & 1 == 0 { 1.0 } else { -1.0 }
}

/// `a x`, each entry of `a` passed through `entry` first.
fn times(a: &Matrix, x: &[f64], entry: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut y = vec![0.0; a.rows()];
    for (j, x) in x.iter().enumerate() {
        for (y, value) in y.iter_mut().zip(a.col(j)) {
            *y += entry(*value) * x;
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_one_wrong_entry() {
        let (a, b) = (generate::uniform(40, 40, 1), generate::uniform(40, 40, 2));
        let mut c = Matrix::zeros(40, 40);
        for j in 0..40 {
            c.col_mut(j).copy_from_slice(&times(&a, b.col(j), |v| v));
        }
        assert!(scaled_error(&a, &b, &c, 7) < THRESHOLD);
        c.put(3, 4, c.at(3, 4) + 1e-9);
        assert!(scaled_error(&a, &b, &c, 7) >= THRESHOLD);
        c.put(3, 4, f64::NAN);
        assert_eq!(scaled_error(&a, &b, &c, 7), f64::MAX);
    }
}
