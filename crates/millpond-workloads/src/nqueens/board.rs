//! A board filled row by row from the top: three bit masks of the attacked squares, one bit per
//! column.

use serde::{Deserialize, Serialize};

/// A board with some rows filled. A bit in a mask is a column of the next row.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Board {
    /// The columns of the board.
    all: u32,
    columns: u32,
    /// Diagonals that go down to the left. Bits beyond the board are kept, but never read.
    left: u32,
    right: u32,
    /// The number of empty rows.
    pub rows: u64,
}

impl Board {
    /// An empty board of at most 32 rows.
    pub fn new(n: u64) -> Self {
        Self { all: bits(n), columns: 0, left: 0, right: 0, rows: n }
    }

    /// The unattacked columns of the next row.
    pub(super) fn free(self) -> u32 {
        self.all & !(self.columns | self.left | self.right)
    }

    /// The columns of the row after the next, unattacked so far.
    pub(super) fn free_later(self) -> u32 {
        self.all & !(self.columns | (self.left << 1) | (self.right >> 1))
    }

    /// The board with one more queen, in this column of the next row.
    #[inline(always)]
    pub(super) fn with(self, queen: u32) -> Self {
        Self {
            all: self.all,
            columns: self.columns | queen,
            left: (self.left | queen) << 1,
            right: (self.right | queen) >> 1,
            rows: self.rows - 1,
        }
    }

    /// All boards with one more queen, in the next row.
    pub fn placements(self) -> impl Iterator<Item = Self> {
        each(self.free()).map(move |queen| self.with(queen))
    }

    /// Boards with a row or two filled, and a factor. The number of ways to fill an empty board of
    /// `n` rows is the factor times the sum over these boards.
    ///
    /// The factor is 2, because each way has a mirror image that is not among them. In these boards
    /// the first queen is left of the middle. Or it is in the middle column, if there is one, and
    /// the second queen is left of it. For a single row the factor is 1, because its one way is its
    /// own image.
    ///
    /// ```
    /// use millpond_workloads::nqueens::{Board, known, serial_below};
    ///
    /// let (begun, factor) = Board::begun(8);
    /// assert_eq!(Some(factor * begun.map(serial_below).sum::<u64>()), known(8));
    /// ```
    pub fn begun(n: u64) -> (impl Iterator<Item = Self>, u64) {
        let empty = Self::new(n);
        let (left, middle, factor) = if n == 1 { (1, 0, 1) } else { (bits(n / 2), bits(n % 2) << (n / 2), 2) };
        let in_the_left = each(left).map(move |queen| empty.with(queen));
        let in_the_middle = each(middle).map(move |queen| empty.with(queen));
        let below = move |board: Self| each(board.free() & left).map(move |queen| board.with(queen));
        (in_the_left.chain(in_the_middle.flat_map(below)), factor)
    }
}

/// The lowest `n` bits, at most 32.
fn bits(n: u64) -> u32 {
    ((1_u64 << n) - 1) as u32
}

/// Each bit separately, the lowest first.
#[inline(always)]
pub(super) fn each(mut bits: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = bits & bits.wrapping_neg();
        bits ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}
