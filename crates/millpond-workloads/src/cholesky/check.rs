//! Is the factor right? LAPACK's test: `||A - L L^T||_1 / (n ||A||_1 eps) < 30` (`dpot01`, "Installation Guide for
//! LAPACK", LAPACK Working Note 41, with the threshold of its test programs).

use crate::matrix::Matrix;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Par};

/// A factor whose scaled residual is below this is right.
pub const THRESHOLD: f64 = 30.0;

/// The scaled residual of the lower triangular `l` as a factor of `a`.
pub fn scaled_residual(a: &Matrix, l: &Matrix) -> f64 {
    let n = a.rows();
    let mut rest = a.clone();
    difference(&mut rest, l);
    let scaled = rest.norm_of_lower() / (n as f64 * a.norm_of_lower() * EPS);
    if scaled.is_finite() { scaled } else { f64::MAX }
}

/// LAPACK's eps: the relative spacing halved, as `dlamch('Epsilon')` has it where arithmetic rounds.
pub(crate) const EPS: f64 = f64::EPSILON / 2.0;

/// `rest := rest - l l^T` on and below the diagonal.
fn difference(rest: &mut Matrix, l: &Matrix) {
    let lower = BlockStructure::TriangularLower;
    let upper = BlockStructure::TriangularUpper;
    matmul(rest.view_mut(), lower, Accum::Add, l.view(), lower, l.view().transpose(), upper, -1.0, Par::Seq);
}
