use super::Flaw;
use crate::text::short;
use faer::{MatMut, MatRef};

/// A dense column-major matrix of `f64`.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// A matrix from its columns, one after the other.
    ///
    /// # Panics
    ///
    /// If `data` does not hold `rows * cols` numbers.
    pub fn from_columns(rows: usize, cols: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * cols, "a {rows} x {cols} matrix");
        Self { rows, cols, data }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The numbers, column after column.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// One column.
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// One column, mutable.
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// The number at row `i` and column `j`.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.rows + i]
    }

    /// Sets the number at row `i` and column `j`.
    pub fn put(&mut self, i: usize, j: usize, value: f64) {
        self.data[j * self.rows + i] = value;
    }

    /// The matrix as a faer view.
    pub fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.cols)
    }

    /// The matrix as a mutable faer view.
    pub fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.cols)
    }

    /// The asymmetry of a square matrix: the largest difference of two opposite entries `(i, j)`
    /// and `(j, i)`, divided by `sqrt(|a_ii a_jj|)`. In a positive definite matrix, this root
    /// bounds both entries.
    ///
    /// `epsilon` is the relative spacing of the stored numbers: `f32::EPSILON` or `f64::EPSILON`.
    /// The rounding error of a symmetric matrix depends on its computation, so half of the digits
    /// may differ.
    ///
    /// ```
    /// use millpond_workloads::matrix::Matrix;
    ///
    /// let nearly = Matrix::from_columns(2, 2, vec![4.0, 1.0, 1.0 + 1e-11, 4.0]);
    /// assert!(nearly.asymmetry(f64::EPSILON).is_ok_and(|asymmetry| (1e-12..1e-11).contains(&asymmetry)));
    /// let different = Matrix::from_columns(2, 2, vec![4.0, 1.0, 2.0, 4.0]);
    /// assert!(different.asymmetry(f64::EPSILON).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The first pair of entries whose value exceeds the square root of `epsilon`, or is NaN.
    pub fn asymmetry(&self, epsilon: f64) -> Result<f64, Flaw> {
        let (limit, mut most) = (epsilon.sqrt(), 0.0_f64);
        for j in 0..self.cols {
            for i in j + 1..self.rows {
                let (below, above) = (self.at(i, j), self.at(j, i));
                if below == above {
                    continue;
                }
                // Two roots, because the product of two entries may overflow or underflow.
                let scale = self.at(i, i).abs().sqrt() * self.at(j, j).abs().sqrt();
                let relative = (below - above).abs() / scale;
                if relative <= limit {
                    most = most.max(relative);
                    continue;
                }
                let place = format!("row {}, column {}", i + 1, j + 1);
                let (below, above) = (short(below), short(above));
                let what = format!(
                    "the matrix is not symmetric: {below} here, {above} in the opposite entry (--lower uses the lower half only)"
                );
                return Err(Flaw::new(place, what));
            }
        }
        Ok(most)
    }

    /// Copies the lower half to the upper one.
    ///
    /// ```
    /// use millpond_workloads::matrix::Matrix;
    ///
    /// let mut a = Matrix::from_columns(2, 2, vec![4.0, 1.0, 0.0, 9.0]);
    /// a.mirror_lower();
    /// assert_eq!(a.at(0, 1), 1.0);
    /// ```
    pub fn mirror_lower(&mut self) {
        for j in 0..self.cols {
            (j + 1..self.rows).for_each(|i| self.put(j, i, self.at(i, j)));
        }
    }

    /// The exponent of the entry `x` of largest magnitude: `2^(e-1) <= |x| < 2^e`. It is 0 if all
    /// entries are 0, or if one is not finite.
    pub(crate) fn exponent(&self) -> i32 {
        let most = self.data.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        if most.is_finite() { libm::frexp(most).1 } else { 0 }
    }

    /// Multiplies each entry by `factor`.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.data.iter_mut().for_each(|value| *value *= factor);
    }

    /// The largest column sum of magnitudes.
    pub fn norm(&self) -> f64 {
        self.norm_times(1.0)
    }

    /// The largest column sum, where each entry is multiplied by `factor` first.
    pub(crate) fn norm_times(&self, factor: f64) -> f64 {
        let sum = |j| self.col(j).iter().map(|value| (value * factor).abs()).sum();
        let sums: Vec<_> = (0..self.cols).map(sum).collect();
        greatest(&sums)
    }

    /// The largest column sum of a symmetric matrix given by its lower half.
    pub fn norm_of_lower(&self) -> f64 {
        let mut sums = vec![0.0; self.cols];
        for j in 0..self.cols {
            sums[j] += self.at(j, j).abs();
            for (i, value) in self.col(j).iter().enumerate().skip(j + 1) {
                sums[i] += value.abs();
                sums[j] += value.abs();
            }
        }
        greatest(&sums)
    }
}

/// `2^exponent`, which must be a normal number.
pub(crate) fn power(exponent: i32) -> f64 {
    libm::ldexp(1.0, exponent)
}

/// The maximum of `values`, or NaN if one is NaN.
pub(crate) fn greatest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, v| if v.is_nan() || most.is_nan() { f64::NAN } else { most.max(*v) })
}
