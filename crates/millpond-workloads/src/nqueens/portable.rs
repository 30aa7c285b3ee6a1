//! The task program as portable tasks: a struct for each closure.

use super::tasks::is_leaf;
use super::{Board, serial_below};
use millpond::{Access, Accumulate, Spawn, Sum};
use millpond_dist::{Args, Cw, Handles, ParentScope, Portable, PortableParent, SpawnPortable, portable};
use serde::{Deserialize, Serialize};

/// Adds the number of ways to fill the board to `total`.
pub fn portable<'s, S: Spawn<'s>>(s: &S, board: Board, cutoff: u64, total: Access<'_, u64, Accumulate<Sum>, S::Brand>) {
    if is_leaf(board, cutoff) {
        s.spawn_portable(total, Fill { board });
    } else {
        s.nest_portable(total, Place { board, cutoff });
    }
}

/// A board filled without further tasks.
#[derive(Serialize, Deserialize)]
struct Fill {
    board: Board,
}

impl Portable for Fill {
    type Access = Cw<u64, Sum>;

    fn run(self, mut total: Args<'_, Self>) {
        total.add(serial_below(self.board));
    }
}

portable!(Fill, "nqueens.fill");

/// A board for one more queen, in all ways.
#[derive(Serialize, Deserialize)]
struct Place {
    board: Board,
    cutoff: u64,
}

impl PortableParent for Place {
    type Access = Cw<u64, Sum>;

    fn run<'t>(self, s: &impl ParentScope<'t>, total: Handles<'t, Self>) {
        let Self { board, cutoff } = self;
        for board in board.placements() {
            if is_leaf(board, cutoff) {
                s.spawn_portable(total.accumulate(), Fill { board });
            } else {
                s.nest_portable(total.accumulate(), Place { board, cutoff });
            }
        }
    }
}

portable!(Place, "nqueens.place");
