//! Checks an inverse with LAPACK's test `dget03`: `||A X - I||_1 / (n ||A||_1 ||X||_1 eps) < 30`.
//!
//! Source: "Installation Guide for LAPACK", LAPACK Working Note 41. The threshold is that of its
//! test programs.

use crate::cholesky::EPS;
use crate::matrix::{Matrix, power};
use faer::linalg::matmul::matmul;
use faer::{Accum, Par};

pub use crate::cholesky::THRESHOLD;

/// The scaled residual of `x` as the inverse of `a`; `f64::MAX` if it is not finite.
///
/// ```
/// use millpond_workloads::inverse::{THRESHOLD, scaled_residual};
/// use millpond_workloads::matrix::Matrix;
///
/// let of = |entry| Matrix::from_columns(1, 1, vec![entry]);
/// assert!(scaled_residual(&of(2e304), &of(5e-305)) < THRESHOLD);
/// assert!(scaled_residual(&of(2e304), &of(4e-305)) > THRESHOLD);
/// ```
pub fn scaled_residual(a: &Matrix, x: &Matrix) -> f64 {
    let n = a.rows();
    let mut rest = Matrix::zeros(n, n);
    (0..n).for_each(|i| rest.put(i, i, -1.0));
    matmul(rest.view_mut(), Accum::Add, a.view(), x.view(), 1.0, Par::Seq);
    // The norms are computed with entries near 1, because the matrices' norms, and their product,
    // may overflow.
    let near_one = |matrix: &Matrix| {
        let exponent = matrix.exponent().clamp(-1000, 1000);
        (matrix.norm_times(power(-exponent)), exponent)
    };
    let ((norm, exponent), (norm_of_x, exponent_of_x)) = (near_one(a), near_one(x));
    let scaled = libm::ldexp(rest.norm() / (n as f64 * norm * norm_of_x * EPS), -(exponent + exponent_of_x));
    if scaled.is_finite() { scaled } else { f64::MAX }
}
