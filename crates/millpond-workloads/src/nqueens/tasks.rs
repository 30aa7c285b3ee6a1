//! The task program: one task per legal placement. Each adds its count to one sum.

use super::{Board, serial_below};
use millpond::{Access, Accumulate, Accumulator, Spawn, Sum};

/// Adds the number of ways to fill the board to `total`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, board: Board, cutoff: u64, total: Access<'_, u64, Accumulate<Sum>, S::Brand>) {
    if is_leaf(board, cutoff) {
        s.spawn(total, move |mut total| total.add(serial_below(board)));
    } else {
        s.nest(total, move |s, total| place(s, board, cutoff, &total));
    }
}

/// Spawns a task for each placement.
fn place<'s, S: Spawn<'s>>(s: &S, board: Board, cutoff: u64, total: &Accumulator<u64, Sum, S::Brand>) {
    for next in board.placements() {
        if is_leaf(next, cutoff) {
            s.spawn(total.accumulate(), move |mut total| total.add(serial_below(next)));
        } else {
            s.nest(total.accumulate(), move |s, total| place(s, next, cutoff, &total));
        }
    }
}

/// Whether the board is filled without further tasks.
pub(super) fn is_leaf(board: Board, cutoff: u64) -> bool {
    board.rows == 0 || board.rows <= cutoff
}

/// The number of tasks, with the one for `board`.
pub fn count(board: Board, cutoff: u64) -> u64 {
    if is_leaf(board, cutoff) {
        return 1;
    }
    if board.rows - 1 <= cutoff {
        return 1 + u64::from(board.free().count_ones());
    }
    1 + board.placements().map(|next| count(next, cutoff)).sum::<u64>()
}
