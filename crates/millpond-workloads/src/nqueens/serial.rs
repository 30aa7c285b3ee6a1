//! The serial program: rows from the top, three bit masks for what the queens above attack.

/// A board with some rows filled. A bit in a mask is a column of the next row.
#[derive(Debug, Clone, Copy)]
pub struct Board {
    all: u32,
    columns: u32,
    left: u32,
    right: u32,
    /// How many rows are still empty.
    pub rows: u64,
}

impl Board {
    /// An empty board.
    pub fn new(n: u64) -> Self {
        Self { all: (1 << n) - 1, columns: 0, left: 0, right: 0, rows: n }
    }

    /// Every board that has one more queen, in the next row.
    pub fn placements(self) -> impl Iterator<Item = Self> {
        let mut free = self.all & !(self.columns | self.left | self.right);
        std::iter::from_fn(move || {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            (queen != 0).then(|| Self {
                all: self.all,
                columns: self.columns | queen,
                left: (self.left | queen) << 1,
                right: (self.right | queen) >> 1,
                rows: self.rows - 1,
            })
        })
    }
}

/// In how many ways the board can be filled.
pub fn serial(board: Board) -> u64 {
    if board.rows == 0 { 1 } else { board.placements().map(serial).sum() }
}
