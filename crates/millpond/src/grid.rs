//! Grids of handles: a handle for each tile of a matrix, an image or a field.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::{slice, vec};

use crate::error::Error;
use crate::handle::Handle;
use crate::handle::access::{Full, Root};

/// A grid of handles with an index of two numbers: `grid[(row, column)]`.
///
/// It is one vector, row by row. `T` is the type of a tile. `B` and `R` are the parameters of
/// [`Handle`]: a program that makes its grids outside of bodies names neither. A function for any
/// scope takes a `&Grid<T, S::Brand>`:
///
/// ```
/// use millpond::{Grid, Runtime, Spawn};
///
/// /// Each cell becomes the sum of its upper and its left neighbour, from the second row and column
/// /// on.
/// fn paths<'s, S: Spawn<'s>>(s: &S, cells: &Grid<u64, S::Brand>) {
///     for row in 1..cells.rows() {
///         for col in 1..cells.cols() {
///             let (up, left) = (cells[(row - 1, col)].read(), cells[(row, col - 1)].read());
///             s.spawn((up, left, cells[(row, col)].write()), |(up, left, cell)| cell.set(up + left));
///         }
///     }
/// }
///
/// let (rt, cells) = (Runtime::new()?, Grid::new(3, 4, |_, _| 1));
/// rt.scope(|s| paths(s, &cells))?;
/// assert_eq!(cells.into_tiles()?, [[1, 1, 1, 1], [1, 2, 3, 4], [1, 3, 6, 10]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With the [neighbours](Grid::neighbours) of a tile, a stencil needs no case for its borders. A
/// task on a whole row or grid declares [`all`](crate::all)`(grid.row(0), Handle::read)` or
/// `all(&grid, Handle::read)`. The body of a parent makes a grid of the handles that it gets, by
/// [`from_handles`](Grid::from_handles).
///
/// Indexing takes constant time. Making a grid costs its handles and one vector.
pub struct Grid<T, B = Root, R = Full> {
    rows: usize,
    cols: usize,
    /// Row by row.
    handles: Vec<Handle<T, B, R>>,
}

impl<T> Grid<T> {
    /// Makes a grid of this many rows and columns. `tile` makes the value at a row and a column,
    /// and is called row by row.
    ///
    /// ```
    /// let grid = millpond::Grid::new(2, 3, |row, col| 10 * row + col);
    /// assert_eq!(grid.into_tiles()?, [[0, 1, 2], [10, 11, 12]]);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the number of tiles exceeds `usize`, or `tile` panics.
    #[track_caller]
    pub fn new(rows: usize, cols: usize, mut tile: impl FnMut(usize, usize) -> T) -> Self {
        Grid::make(rows, cols, |row, col| Handle::new(tile(row, col)))
    }

    /// Makes a grid without values: a task must [`write`](Handle::write) a tile before another one
    /// reads it.
    ///
    /// # Panics
    ///
    /// If the number of tiles exceeds `usize`.
    #[track_caller]
    pub fn unset(rows: usize, cols: usize) -> Self {
        Grid::make(rows, cols, |_, _| Handle::unset())
    }

    #[track_caller]
    fn make(rows: usize, cols: usize, mut handle: impl FnMut(usize, usize) -> Handle<T>) -> Self {
        let mut handles = Vec::with_capacity(count(rows, cols));
        for row in 0..rows {
            handles.extend((0..cols).map(|col| handle(row, col)));
        }
        Grid { rows, cols, handles }
    }

    /// Makes a grid of these rows of tiles.
    ///
    /// ```
    /// use millpond::{Grid, Runtime, Spawn};
    ///
    /// let (rt, grid) = (Runtime::new()?, Grid::from_tiles([["mill", "pond"], ["heron", "reed"]]));
    /// let length = rt.scope(|s| s.wait(s.spawn(grid[(1, 0)].read(), |word| word.len())))??;
    /// assert_eq!(length, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the rows differ in length.
    #[track_caller]
    pub fn from_tiles<I>(tiles: I) -> Self
    where
        I: IntoIterator,
        I::Item: IntoIterator<Item = T>,
    {
        let (mut rows, mut cols, mut handles) = (0, 0, Vec::new());
        for row in tiles {
            let before = handles.len();
            handles.extend(row.into_iter().map(Handle::new));
            let length = handles.len() - before;
            if rows == 0 {
                cols = length;
            }
            assert!(length == cols, "row {rows} has {length} tiles, and row 0 has {cols}");
            rows += 1;
        }
        Grid { rows, cols, handles }
    }

    /// The values after all tasks, as rows of tiles.
    ///
    /// # Errors
    ///
    /// The first tile's error of [`Handle::into_inner`], if any. The other tiles are dropped.
    #[track_caller]
    pub fn into_tiles(self) -> Result<Vec<Vec<T>>, Error> {
        let mut handles = self.handles.into_iter();
        let mut tiles = Vec::with_capacity(self.rows);
        for _ in 0..self.rows {
            let mut row = Vec::with_capacity(self.cols);
            for handle in handles.by_ref().take(self.cols) {
                row.push(handle.into_inner()?);
            }
            tiles.push(row);
        }
        Ok(tiles)
    }
}

/// The number of tiles.
#[track_caller]
fn count(rows: usize, cols: usize) -> usize {
    rows.checked_mul(cols).unwrap_or_else(|| panic!("a grid of {rows} × {cols} tiles is too large"))
}

impl<T, B, R> Grid<T, B, R> {
    /// Makes a grid of handles, given row by row: in the body of a parent, or of a scope's own data
    /// (`s.unset()`).
    ///
    /// ```
    /// use millpond::{Grid, Handle, Runtime, Spawn, all};
    ///
    /// let (rt, grid) = (Runtime::new()?, Grid::new(2, 2, |row, col| 2 * row + col));
    /// rt.scope(|s| {
    ///     s.nest(all(&grid, Handle::inout), |s, tiles| {
    ///         let grid = Grid::from_handles(2, 2, tiles);
    ///         s.spawn((grid[(0, 1)].read(), grid[(1, 0)].inout()), |(from, to)| *to += from);
    ///     });
    /// })?;
    /// assert_eq!(grid.into_tiles()?, [[0, 1], [3, 3]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not `rows * cols` handles.
    #[track_caller]
    pub fn from_handles(rows: usize, cols: usize, handles: impl IntoIterator<Item = Handle<T, B, R>>) -> Self {
        let (wanted, handles) = (count(rows, cols), Vec::from_iter(handles));
        assert!(handles.len() == wanted, "{} handles for a grid of {rows} × {cols} tiles", handles.len());
        Grid { rows, cols, handles }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The tile at this place, if the grid has it. `grid[(row, col)]` panics if not.
    ///
    /// ```
    /// let grid = millpond::Grid::new(2, 3, |_, _| 0);
    /// assert!(grid.get(1, 2).is_some() && grid.get(2, 1).is_none());
    /// ```
    pub fn get(&self, row: usize, col: usize) -> Option<&Handle<T, B, R>> {
        (row < self.rows && col < self.cols).then(|| &self.handles[row * self.cols + col])
    }

    /// The place of a tile in the vector.
    #[track_caller]
    fn at(&self, (row, col): (usize, usize)) -> usize {
        let (rows, cols) = (self.rows, self.cols);
        assert!(row < rows && col < cols, "tile ({row}, {col}) of a grid of {rows} × {cols} tiles");
        row * cols + col
    }

    /// The tiles of a row, from left to right.
    ///
    /// # Panics
    ///
    /// If the grid has no such row.
    #[track_caller]
    pub fn row(&self, row: usize) -> &[Handle<T, B, R>] {
        let (rows, cols) = (self.rows, self.cols);
        assert!(row < rows, "row {row} of a grid of {rows} × {cols} tiles");
        &self.handles[row * cols..][..cols]
    }

    /// The tiles next to this one, in this order: above, left, right, below. At a border of the
    /// grid some are absent. An `Option` of an access is an [access](crate::Accesses), so one task
    /// serves all tiles:
    ///
    /// ```
    /// use millpond::{Grid, Handle, Runtime, Spawn};
    ///
    /// let rt = Runtime::new()?;
    /// let (now, next) = (Grid::new(2, 3, |_, _| 1_i32), Grid::unset(2, 3));
    /// rt.scope(|s| {
    ///     for ((row, col), tile) in now.indexed() {
    ///         let around = now.neighbours(row, col).map(|tile| tile.map(Handle::read));
    ///         s.spawn((tile.read(), around, next[(row, col)].write()), |(tile, around, next)| {
    ///             next.set(tile + around.into_iter().flatten().sum::<i32>());
    ///         });
    ///     }
    /// })?;
    /// assert_eq!(next.into_tiles()?, [[3, 4, 3], [3, 4, 3]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the grid has no tile at this place.
    #[track_caller]
    pub fn neighbours(&self, row: usize, col: usize) -> [Option<&Handle<T, B, R>>; 4] {
        self.at((row, col));
        [(-1, 0), (0, -1), (0, 1), (1, 0)].map(|step| self.beside(row, col, step))
    }

    /// Like [`neighbours`](Grid::neighbours), but with the corners: the eight tiles around this
    /// one, row by row.
    ///
    /// ```
    /// let grid = millpond::Grid::new(3, 3, |_, _| 0);
    /// let there = |row, col| grid.neighbours8(row, col).map(|tile| tile.is_some());
    /// assert_eq!(there(1, 1), [true; 8]);
    /// assert_eq!(there(0, 0), [false, false, false, false, true, false, true, true]);
    /// ```
    ///
    /// # Panics
    ///
    /// If the grid has no tile at this place.
    #[track_caller]
    pub fn neighbours8(&self, row: usize, col: usize) -> [Option<&Handle<T, B, R>>; 8] {
        self.at((row, col));
        let around = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)];
        around.map(|step| self.beside(row, col, step))
    }

    fn beside(&self, row: usize, col: usize, (down, right): (isize, isize)) -> Option<&Handle<T, B, R>> {
        self.get(row.checked_add_signed(down)?, col.checked_add_signed(right)?)
    }

    /// The tiles, row by row.
    pub fn iter(&self) -> slice::Iter<'_, Handle<T, B, R>> {
        self.handles.iter()
    }

    /// The tiles with their places, row by row: `((row, column), handle)`.
    pub fn indexed(&self) -> impl Iterator<Item = ((usize, usize), &Handle<T, B, R>)> {
        let cols = self.cols;
        self.iter().enumerate().map(move |(at, handle)| ((at / cols, at % cols), handle))
    }
}

impl<T, B, R> Index<(usize, usize)> for Grid<T, B, R> {
    type Output = Handle<T, B, R>;

    /// The tile at a row and a column.
    ///
    /// # Panics
    ///
    /// If the grid has no such tile. The message has the place and the size.
    #[track_caller]
    fn index(&self, place: (usize, usize)) -> &Handle<T, B, R> {
        &self.handles[self.at(place)]
    }
}

impl<T, B, R> IndexMut<(usize, usize)> for Grid<T, B, R> {
    /// Like `index`, for [`Handle::get_mut`] and [`Spawn::wait_on`](crate::Spawn::wait_on).
    #[track_caller]
    fn index_mut(&mut self, place: (usize, usize)) -> &mut Handle<T, B, R> {
        let at = self.at(place);
        &mut self.handles[at]
    }
}

impl<'g, T, B, R> IntoIterator for &'g Grid<T, B, R> {
    type Item = &'g Handle<T, B, R>;
    type IntoIter = slice::Iter<'g, Handle<T, B, R>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T, B, R> IntoIterator for Grid<T, B, R> {
    type Item = Handle<T, B, R>;
    type IntoIter = vec::IntoIter<Handle<T, B, R>>;

    fn into_iter(self) -> Self::IntoIter {
        self.handles.into_iter()
    }
}

impl<T, B, R> fmt::Debug for Grid<T, B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grid").field("rows", &self.rows).field("cols", &self.cols).finish_non_exhaustive()
    }
}
