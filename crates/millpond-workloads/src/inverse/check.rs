//! Is the inverse right? LAPACK's test: `||A X - I||_1 / (n ||A||_1 ||X||_1 eps) < 30` (`dget03`, "Installation Guide for
//! LAPACK", LAPACK Working Note 41, with the threshold of its test programs).

use crate::cholesky::EPS;
use crate::matrix::Matrix;
use faer::linalg::matmul::matmul;
use faer::{Accum, Par};

pub use crate::cholesky::THRESHOLD;

/// The scaled residual of `x` as the inverse of `a`.
pub fn scaled_residual(a: &Matrix, x: &Matrix) -> f64 {
    let n = a.rows();
    let mut rest = Matrix::zeros(n, n);
    (0..n).for_each(|i| rest.put(i, i, -1.0));
    matmul(rest.view_mut(), Accum::Add, a.view(), x.view(), 1.0, Par::Seq);
    let scaled = rest.norm() / (n as f64 * a.norm() * x.norm() * EPS);
    if scaled.is_finite() { scaled } else { f64::MAX }
}
