use super::Flaw;
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

    /// One column, to be changed.
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

    /// The matrix as faer sees it.
    pub fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.cols)
    }

    /// The matrix as faer sees it, to be changed.
    pub fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.cols)
    }

    /// Refuses a matrix whose two halves differ by more than the rounding of one operation.
    ///
    /// The scale is that of the diagonal, which bounds every entry of a positive definite matrix.
    pub fn symmetric(&self) -> Result<(), Flaw> {
        for j in 0..self.cols {
            for i in j + 1..self.rows {
                let (below, above) = (self.at(i, j), self.at(j, i));
                let scale = (self.at(i, i) * self.at(j, j)).abs().sqrt();
                if below != above && (below - above).abs() > 64.0 * f64::EPSILON * scale {
                    let place = format!("row {}, column {}", i + 1, j + 1);
                    let what = format!("the matrix is not symmetric: {below} here, {above} in the opposite entry");
                    return Err(Flaw::new(place, what));
                }
            }
        }
        Ok(())
    }

    /// The greatest column sum.
    pub fn norm(&self) -> f64 {
        let sums: Vec<_> = (0..self.cols).map(|j| self.col(j).iter().map(|value| value.abs()).sum()).collect();
        greatest(&sums)
    }

    /// The greatest column sum of a symmetric matrix given by its lower half.
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

/// The greatest of `values`, or NaN if there is one among them.
pub(crate) fn greatest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, v| if v.is_nan() || most.is_nan() { f64::NAN } else { most.max(*v) })
}
