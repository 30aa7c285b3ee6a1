use super::Matrix;
use faer::{Mat, MatMut, MatRef};

/// The default tile size.
pub fn default_tile(n: usize) -> usize {
    n.min(125)
}

/// A block of a matrix, column-major. Each column begins a cache line, so that no vector of a
/// kernel spans two lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile(Mat<f64>);

impl Tile {
    /// A tile of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self(Mat::zeros(rows, cols))
    }

    /// The block of `a` whose first entry is `(i, j)`.
    pub fn cut(a: &Matrix, i: usize, j: usize, rows: usize, cols: usize) -> Self {
        let mut tile = Self::zeros(rows, cols);
        for c in 0..cols {
            tile.0.col_as_slice_mut(c).copy_from_slice(&a.col(j + c)[i..i + rows]);
        }
        tile
    }

    /// Copies the tile into `a`, its first entry to `(i, j)`.
    pub fn paste(&self, a: &mut Matrix, i: usize, j: usize) {
        for c in 0..self.0.ncols() {
            a.col_mut(j + c)[i..i + self.0.nrows()].copy_from_slice(self.0.col_as_slice(c));
        }
    }

    /// Copies the lower triangle of the tile into `a`, its first entry to `(i, i)`.
    pub fn paste_lower(&self, a: &mut Matrix, i: usize) {
        for c in 0..self.0.ncols() {
            a.col_mut(i + c)[i + c..i + self.0.nrows()].copy_from_slice(&self.0.col_as_slice(c)[c..]);
        }
    }

    /// The tile as a faer view.
    pub fn view(&self) -> MatRef<'_, f64> {
        self.0.as_ref()
    }

    /// The tile as a mutable faer view.
    pub fn view_mut(&mut self) -> MatMut<'_, f64> {
        self.0.as_mut()
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.col_stride().unsigned_abs() * self.0.ncols() * size_of::<f64>()
    }
}

/// The tiles of a matrix of order `n`. The last row and column of tiles may be smaller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// The order of the matrix.
    pub n: usize,
    /// The order of a full tile.
    pub tile: usize,
}

impl Grid {
    /// The number of tiles in a row or a column.
    pub fn count(self) -> usize {
        self.n.div_ceil(self.tile)
    }

    /// The first row (or column) of the tiles at index `i`.
    pub fn start(self, i: usize) -> usize {
        i * self.tile
    }

    /// The number of rows (or columns) of the tiles at index `i`.
    pub fn size(self, i: usize) -> usize {
        self.tile.min(self.n - self.start(i))
    }

    /// The tile `(i, j)` of `a`.
    pub fn cut(self, a: &Matrix, i: usize, j: usize) -> Tile {
        Tile::cut(a, self.start(i), self.start(j), self.size(i), self.size(j))
    }

    /// All tiles of `a`, row by row.
    pub fn cut_all(self, a: &Matrix) -> Vec<Vec<Tile>> {
        let nt = self.count();
        (0..nt).map(|i| (0..nt).map(|j| self.cut(a, i, j)).collect()).collect()
    }

    /// The tiles on and below the diagonal, row by row.
    pub fn cut_lower(self, a: &Matrix) -> Vec<Vec<Tile>> {
        (0..self.count()).map(|i| (0..=i).map(|j| self.cut(a, i, j)).collect()).collect()
    }

    /// The matrix of these tiles.
    pub fn join_all(self, tiles: &[Vec<Tile>]) -> Matrix {
        let mut a = Matrix::zeros(self.n, self.n);
        for (i, row) in tiles.iter().enumerate() {
            for (j, tile) in row.iter().enumerate() {
                tile.paste(&mut a, self.start(i), self.start(j));
            }
        }
        a
    }

    /// The lower triangular matrix of these tiles. Their entries above the diagonal are ignored.
    pub fn join_lower(self, tiles: &[Vec<Tile>]) -> Matrix {
        let mut a = Matrix::zeros(self.n, self.n);
        for (i, row) in tiles.iter().enumerate() {
            for (j, tile) in row.iter().enumerate() {
                if i == j {
                    tile.paste_lower(&mut a, self.start(i));
                } else {
                    tile.paste(&mut a, self.start(i), self.start(j));
                }
            }
        }
        a
    }
}
