//! The serial program.

use super::board::{Board, each};

/// The number of ways to place `n` queens on a board of `n` rows.
pub fn serial(n: u64) -> u64 {
    let (begun, factor) = Board::begun(n);
    factor * begun.map(serial_below).sum::<u64>()
}

/// The number of ways to fill the board.
pub fn serial_below(board: Board) -> u64 {
    match board.rows {
        0 => 1,
        1 => board.free().count_ones().into(),
        _ => below(board, board.free()),
    }
}

/// The number of ways to fill a board with at least two empty rows, and these free columns in the
/// next row.
fn below(board: Board, free: u32) -> u64 {
    let next = each(free).map(|queen| board.with(queen));
    if board.rows == 2 {
        return next.map(|last| u64::from(last.free().count_ones())).sum();
    }
    // Most boards cannot be filled. Many of them have no free column in the next row or the one
    // after it.
    next.map(|next| (next, next.free()))
        .filter(|(next, free)| *free != 0 && next.free_later() != 0)
        .map(|(next, free)| below(next, free))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::known;
    use super::*;

    #[test]
    fn as_many_as_are_known() {
        for n in 1..=10 {
            assert_eq!(Some(serial(n)), known(n), "n = {n}");
            assert_eq!(Some(serial_below(Board::new(n))), known(n), "n = {n}, no mirror");
        }
    }

    #[test]
    fn a_full_board_is_filled_in_one_way() {
        let full = Board::new(1).placements().next().expect("a place");
        assert_eq!(serial_below(full), 1);
    }
}
