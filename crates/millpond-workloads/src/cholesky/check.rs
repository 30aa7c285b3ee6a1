//! Checks a factor with LAPACK's test: `||A - L L^T||_1 / (n ||A||_1 eps) < 30` (`dpot01`,
//! "Installation Guide for LAPACK", LAPACK Working Note 41, with the threshold of its test
//! programs).

use crate::matrix::{Matrix, power};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Par};

/// A factor whose scaled residual is below this is correct.
pub const THRESHOLD: f64 = 30.0;

/// The scaled residual of the lower triangular `l` as a factor of `a`; `f64::MAX` if it is not
/// finite.
///
/// ```
/// use millpond_workloads::cholesky::{THRESHOLD, scaled_residual};
/// use millpond_workloads::matrix::Matrix;
///
/// let of = |entry| Matrix::from_columns(1, 1, vec![entry]);
/// assert!(scaled_residual(&of(4e304), &of(2e152)) < THRESHOLD);
/// assert!(scaled_residual(&of(4e304), &of(1e152)) > THRESHOLD);
/// ```
pub fn scaled_residual(a: &Matrix, l: &Matrix) -> f64 {
    residual(a, l.clone())
}

/// The same, for a factor not needed afterwards.
pub(super) fn residual(a: &Matrix, mut l: Matrix) -> f64 {
    let n = a.rows();
    let half = half_exponent(a);
    let mut rest = a.clone();
    if half != 0 {
        rest.scale(power(-2 * half));
        l.scale(power(-half));
    }
    let norm = rest.norm_of_lower();
    difference(&mut rest, &l);
    let scaled = rest.norm_of_lower() / (n as f64 * norm * EPS);
    if scaled.is_finite() { scaled } else { f64::MAX }
}

/// Within these exponents of entries, the products and norms of the check neither overflow nor
/// underflow.
const SAFE: i32 = 256;

/// Half of the exponent by which `a` is scaled, and by which its factor is then scaled. It is 0 if
/// the entries are safe.
pub(super) fn half_exponent(a: &Matrix) -> i32 {
    let exponent = a.exponent();
    if exponent.abs() <= SAFE { 0 } else { (exponent / 2).clamp(-500, 500) }
}

/// LAPACK's eps: half of the relative spacing, like `dlamch('Epsilon')` for rounding arithmetic.
pub(crate) const EPS: f64 = f64::EPSILON / 2.0;

/// `rest := rest - l l^T` on and below the diagonal.
fn difference(rest: &mut Matrix, l: &Matrix) {
    let lower = BlockStructure::TriangularLower;
    let upper = BlockStructure::TriangularUpper;
    matmul(rest.view_mut(), lower, Accum::Add, l.view(), lower, l.view().transpose(), upper, -1.0, Par::Seq);
}
