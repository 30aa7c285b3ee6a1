//! Checks a product with Freivalds' test ("Probabilistic machines can use less running time", IFIP
//! 1977). It compares `C x` with `A (B x)` for random vectors `x` of 1 and -1. That takes O(n^2), a
//! second product O(n^3).
//!
//! If an entry of `C` is wrong by `d`, an entry of `C x` changes by `d`. Several wrong entries of a
//! row cancel for at most half of the vectors. So 20 vectors miss an error with probability 2^-20
//! at most. The rounding error is at most `n eps (|A| |B|) 1`. The error is divided by this bound,
//! so that a correct product stays below 1.

use crate::matrix::{Matrix, generate, power};

/// A product whose scaled error is below this is correct.
pub const THRESHOLD: f64 = 1.0;

const VECTORS: u64 = 20;

/// The error of `c` as the product of `a` and `b`, in units of the rounding bound. It is `f64::MAX`
/// if it is not finite.
///
/// ```
/// use millpond_workloads::matmul::{THRESHOLD, scaled_error};
/// use millpond_workloads::matrix::Matrix;
///
/// let of = |entry| Matrix::from_columns(1, 1, vec![entry]);
/// assert!(scaled_error(&of(1e200), &of(2e104), &of(2e304), 1) < THRESHOLD);
/// assert!(scaled_error(&of(1e200), &of(2e104), &of(1e304), 1) > THRESHOLD);
/// ```
pub fn scaled_error(a: &Matrix, b: &Matrix, c: &Matrix, seed: u64) -> f64 {
    let n = a.rows();
    // Every entry is scaled before its multiplication. Otherwise products and sums could overflow
    // or underflow.
    let exponent = |matrix: &Matrix| matrix.exponent().clamp(-1000, 1000);
    let (of_a, of_b) = (exponent(a), exponent(b));
    let half = (of_a + of_b) / 2;
    let (to_a, to_b, to_c) = (power(-of_a), power(-of_b), [power(-half), power(half - of_a - of_b)]);
    let (in_a, in_b) = (|entry: f64| entry * to_a, |entry: f64| entry * to_b);
    let in_c = |entry: f64| entry * to_c[0] * to_c[1];
    let allowed = times(a, &times(b, &vec![1.0; n], |v| in_b(v).abs()), |v| in_a(v).abs());
    let mut worst = 0.0f64;
    for vector in 0..VECTORS {
        let x: Vec<f64> = (0..n as u64).map(|i| sign(seed, vector * n as u64 + i)).collect();
        let wanted = times(a, &times(b, &x, in_b), in_a);
        let found = times(c, &x, in_c);
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

/// `a x`, where `entry` is applied to each entry of `a` first.
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

    /// An overflow or underflow verifies nothing, whatever the exponents of the factors.
    #[test]
    fn sees_one_wrong_entry_at_every_scale() {
        for (of_a, of_b) in [(500, 500), (-500, -500), (1000, -1000), (-1000, 1000), (1000, 0), (-900, -100)] {
            let scaled = |matrix: &Matrix, exponents: [i32; 2]| {
                let mut matrix = matrix.clone();
                exponents.into_iter().for_each(|exponent| matrix.scale(power(exponent)));
                matrix
            };
            let (a, b) = (generate::uniform(30, 30, 1), generate::uniform(30, 30, 2));
            let mut c = Matrix::zeros(30, 30);
            (0..30).for_each(|j| c.col_mut(j).copy_from_slice(&times(&a, b.col(j), |v| v)));
            let (a, b) = (scaled(&a, [of_a, 0]), scaled(&b, [of_b, 0]));
            let right = scaled(&c, [of_a, of_b]);
            assert!(scaled_error(&a, &b, &right, 7) < THRESHOLD, "2^{of_a}, 2^{of_b}");
            c.put(3, 4, c.at(3, 4) * 2.0);
            let wrong = scaled(&c, [of_a, of_b]);
            assert!(scaled_error(&a, &b, &wrong, 7) >= THRESHOLD, "2^{of_a}, 2^{of_b}");
            assert!(scaled_error(&a, &b, &Matrix::zeros(30, 30), 7) >= THRESHOLD, "2^{of_a}, 2^{of_b}");
        }
    }

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
