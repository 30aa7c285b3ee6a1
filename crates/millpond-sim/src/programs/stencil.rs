//! An iteration over a line of tiles: a diamond DAG, which is not series-parallel (DDS §1).

use millpond::depend::Mode::{Read, Write};

use crate::program::{Children, Costs, Program, Size, Work};

/// Tile i of a step reads tiles i − 1, i and i + 1 of the step before. All tasks are children of one.
///
/// ```
/// use millpond_sim::{Costs, Program, programs::Stencil};
///
/// let stencil = Stencil::new(100, 20, 1_000, Costs::NONE);
/// assert_eq!((stencil.size(&stencil.root()).work, stencil.span()), (2_000_000, Some(20_000)));
/// ```
#[derive(Clone, Debug)]
pub struct Stencil {
    tiles: u64,
    steps: u64,
    tile: Work,
    costs: Costs,
}

/// The one task that creates all, or a tile in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Creates all tiles.
    All,
    /// A tile.
    Tile,
}

impl Stencil {
    /// So many tiles, each of which takes `tile` nanoseconds in each step.
    pub fn new(tiles: u64, steps: u64, tile: Work, costs: Costs) -> Self {
        Stencil { tiles, steps, tile, costs }
    }

    fn creation(&self) -> Work {
        self.tiles * self.steps * self.costs.of(4)
    }
}

impl Program for Stencil {
    type Task = Task;

    fn root(&self) -> Task {
        Task::All
    }

    fn size(&self, task: &Task) -> Size {
        let tiles = self.tiles * self.steps;
        match task {
            Task::All => Size { work: self.creation() + tiles * self.tile, tasks: tiles + 1 },
            Task::Tile => Size { work: self.tile, tasks: 1 },
        }
    }

    fn body(&self, task: &Task) -> Work {
        match task {
            Task::All => self.creation(),
            Task::Tile => self.tile,
        }
    }

    fn children(&self, _: &Task, children: &mut Children<Task>) {
        for step in 1..=self.steps {
            for tile in 0..self.tiles {
                let before = (step - 1) * self.tiles;
                let reads = (tile.saturating_sub(1)..(tile + 2).min(self.tiles)).map(|near| (before + near, Read));
                children.spawn(Task::Tile, reads.chain([(step * self.tiles + tile, Write)]));
            }
        }
    }

    fn span(&self) -> Option<Work> {
        Some(self.creation() + self.steps * self.tile)
    }
}
