//! An iteration over a line of tiles: a diamond DAG, which is not series-parallel
//! ([DDS](crate#sources) §1).

use millpond::depend::Mode::{Read, Write};

use crate::program::{Children, Costs, Program, Size, Work};

/// Block i of a step reads blocks i − 1, i and i + 1 of the previous step, and creates its tiles,
/// which are independent. All blocks are children of one task. With one tile per block, the blocks
/// are the tiles.
///
/// ```
/// use millpond_sim::{Costs, Program, programs::Stencil};
///
/// let stencil = Stencil::new(100, 1, 20, 1_000, Costs::NONE);
/// assert_eq!((stencil.size(&stencil.root()).work, stencil.span()), (2_000_000, Some(20_000)));
/// ```
#[derive(Clone, Debug)]
pub struct Stencil {
    tiles: u64,
    block: u64,
    steps: u64,
    tile: Work,
    costs: Costs,
}

/// The task creating all blocks, a block with this number of tiles, or a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Creates all blocks.
    All,
    /// Creates its tiles.
    Block(u64),
    /// A tile.
    Tile,
}

impl Stencil {
    /// `tiles` tiles in blocks of `block`; the last block may have fewer. A tile takes `tile`
    /// nanoseconds in each step.
    pub fn new(tiles: u64, block: u64, steps: u64, tile: Work, costs: Costs) -> Self {
        Stencil { tiles, block: block.clamp(1, tiles.max(1)), steps, tile, costs }
    }

    fn blocks(&self) -> u64 {
        self.tiles.div_ceil(self.block)
    }

    /// The total over all steps.
    fn in_all(&self, often: u64) -> u64 {
        often.saturating_mul(self.steps)
    }

    /// The number of tiles in a block.
    fn tiles_of(&self, block: u64) -> u64 {
        self.block.min(self.tiles - block * self.block)
    }

    fn task(&self, tiles: u64) -> Task {
        if self.block == 1 { Task::Tile } else { Task::Block(tiles) }
    }
}

impl Program for Stencil {
    type Task = Task;

    fn root(&self) -> Task {
        Task::All
    }

    fn size(&self, &task: &Task) -> Size {
        let below = |tiles: u64| Size { work: tiles.saturating_mul(self.tile), tasks: tiles };
        let mut size = match task {
            Task::All if self.block == 1 => below(self.in_all(self.tiles)),
            Task::All => {
                let mut all = below(self.in_all(self.tiles));
                all += Size {
                    work: self.in_all(self.tiles).saturating_mul(self.costs.of(1)),
                    tasks: self.in_all(self.blocks()),
                };
                all
            }
            Task::Block(tiles) => below(tiles),
            Task::Tile => return Size { work: self.tile, tasks: 1 },
        };
        size += Size { work: self.body(&task), tasks: 1 };
        size
    }

    fn body(&self, &task: &Task) -> Work {
        match task {
            // The arguments: three blocks that it reads, and one that it writes.
            Task::All => self.in_all(self.blocks()).saturating_mul(self.costs.of(4)),
            Task::Block(tiles) => tiles.saturating_mul(self.costs.of(1)),
            Task::Tile => self.tile,
        }
    }

    fn children(&self, &task: &Task, children: &mut Children<Task>) {
        if let Task::Block(tiles) = task {
            return (0..tiles).for_each(|_| children.spawn(Task::Tile, []));
        }
        let blocks = self.blocks();
        for step in 1..=self.steps {
            for block in 0..blocks {
                let before = (step - 1) * blocks;
                let reads = (block.saturating_sub(1)..(block + 2).min(blocks)).map(|near| (before + near, Read));
                let writes = [(step * blocks + block, Write)];
                children.spawn(self.task(self.tiles_of(block)), reads.chain(writes));
            }
        }
    }

    fn span(&self) -> Option<Work> {
        let creation = if self.block == 1 { 0 } else { self.body(&Task::Block(self.tiles_of(0))) };
        let step = creation.saturating_add(self.tile);
        Some(self.body(&Task::All).saturating_add(self.steps.saturating_mul(step)))
    }
}
