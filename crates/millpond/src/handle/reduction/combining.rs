//! How the parts of a reduction are combined, and the spare storage.
//!
//! A *block* is the combined result of some members: one part. Under the lock, a block only changes
//! hands. Members combine outside the lock.
//!
//! 1. A member that starts takes spare storage, if there is any. If that holds the identity, it is
//!    the member's part. Otherwise the member makes its part.
//! 2. A finished member brings its part as a block of one member (`meet`). Under the lock there are
//!    two cases. If another block is waiting to be combined with it, the caller takes that block,
//!    and has both. Otherwise the caller's block stays and waits.
//! 3. A member with two blocks combines them into one block and spare storage. With both, it
//!    repeats step 2.
//! 4. The scheme orders the combine task after all members. That task takes the remaining blocks
//!    (`end`), and combines them in reference order.
//!
//! The shape selects the other block. *As they come*: any block. So at most one block waits, and
//! there are about as many blocks as running tasks. *In order*: none.
//!
//! *Tree*: a block of height k at b, a multiple of 2^k, is the result of members b to b + 2^k - 1.
//! It meets the other half of a block of height k + 1. So the operands of each combination depend
//! only on the number of members. The tree's height is logarithmic, and workers combine different
//! blocks at once (TG §2.2). The sizes of the remaining blocks are the powers of two that add up to
//! the number of members. They are combined left to right.
//!
//! * If two halves arrive at once, the lock lets one stay and the other find it. They neither both
//!   stay nor both find.
//! * If a combination fails (`fail`) in the shape *as they come*, its task fails. In a *tree*, both
//!   blocks are dropped, and their parent block never forms. Which combinations run, and so which
//!   fail, depends only on the members that brought a part, not on the order of arrival. The
//!   combine task fails with the first failure.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;

use crate::panics::PanicPayload;
use crate::sync::Spinning;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self). `P` is a part. The member that brings it gives it up.
#[derive(Debug)]
pub(super) struct ReductionParts<P>(Spinning<State<P>>);

#[derive(Debug)]
struct State<P> {
    blocks: Blocks<P>,
    spares: Vec<Spare<P>>,
    /// The first failed combination, by its position.
    failed: Option<(u32, PanicPayload)>,
}

/// The waiting blocks, by shape.
#[derive(Debug)]
pub(super) enum Blocks<P> {
    AsTheyCome(Option<Block<P>>),
    InOrder(Vec<Block<P>>),
    /// Keyed by first member.
    Tree(HashMap<u32, Block<P>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    AsTheyCome,
    InOrder,
    Tree,
}

/// The combined result of some members.
#[derive(Debug)]
pub(super) struct Block<P> {
    /// Its first member.
    start: u32,
    /// The number of members. In a tree, a power of two.
    members: u32,
    pub(super) part: P,
}

/// Spare storage for the next part.
#[derive(Debug)]
pub(super) enum Spare<P> {
    /// It holds the identity.
    Identity(P),
    /// It holds nothing.
    Empty(P),
}

impl<P> Block<P> {
    /// The block of one member.
    pub(super) fn new(member: u32, part: P) -> Self {
        Block { start: member, members: 1, part }
    }

    /// The first member of the sibling block, in a tree.
    fn other_half(&self) -> u32 {
        self.start ^ self.members
    }

    /// Joins two blocks: returns the block to combine into, and the part of `other`.
    fn join(self, other: Self) -> (Self, P) {
        (Block { members: self.members + other.members, ..self }, other.part)
    }
}

impl<P> ReductionParts<P> {
    pub(super) fn new(shape: Shape) -> Self {
        let blocks = match shape {
            Shape::AsTheyCome => Blocks::AsTheyCome(None),
            Shape::InOrder => Blocks::InOrder(Vec::new()),
            Shape::Tree => Blocks::Tree(HashMap::new()),
        };
        ReductionParts(Spinning::new(State { blocks, spares: Vec::new(), failed: None }))
    }

    /// Step 1. Takes the last spare: it is the most likely to be in this processor's cache.
    pub(super) fn spare(&self) -> Option<Spare<P>> {
        self.0.with(|state| state.spares.pop())
    }

    pub(super) fn keep(&self, spare: Spare<P>) {
        self.0.with(|state| state.spares.push(spare));
    }

    /// Step 2. Returns the block to combine into, and the part to combine. Keeps the spare storage
    /// of the last combination.
    pub(super) fn meet(&self, mine: Block<P>, spare: Option<Spare<P>>) -> Option<(Block<P>, P)> {
        self.0.with(|state| {
            state.spares.extend(spare);
            state.blocks.meet(mine)
        })
    }

    /// Records that the combination into `block` failed. Returns `caught` if it is the calling
    /// task's own failure.
    pub(super) fn fail(&self, block: &Block<P>, caught: PanicPayload) -> Option<PanicPayload> {
        let (own, later) = self.0.with(|state| {
            if matches!(state.blocks, Blocks::AsTheyCome(_)) {
                return (Some(caught), None);
            }
            let first = state.failed.take();
            let (failed, later) = match first {
                Some(first) if first.0 < block.start => (first, Some(caught)),
                first => ((block.start, caught), first.map(|(_, caught)| caught)),
            };
            state.failed = Some(failed);
            (None, later)
        });
        // Drop it outside the lock: the payload may hold any value.
        drop(later);
        own
    }

    /// Step 4. Returns the remaining parts, each with its first member, and the failure of the
    /// first failed combination.
    pub(super) fn end(&self) -> (Vec<(u32, P)>, Option<PanicPayload>) {
        let (blocks, failed) =
            self.0.with(|state| (mem::replace(&mut state.blocks, Blocks::AsTheyCome(None)), state.failed.take()));
        let mut left = Vec::new();
        let mut add = |block: Block<P>| left.push((block.start, block.part));
        match blocks {
            Blocks::AsTheyCome(waiting) => waiting.map(add).unwrap_or_default(),
            Blocks::InOrder(waiting) => {
                for block in waiting {
                    add(block);
                }
            }
            Blocks::Tree(waiting) => {
                for (_, block) in waiting {
                    add(block);
                }
            }
        }
        (left, failed.map(|(_, caught)| caught))
    }
}

impl<P> Blocks<P> {
    /// Returns the block to combine into, and the other part. Returns `None` if `mine` now waits.
    fn meet(&mut self, mine: Block<P>) -> Option<(Block<P>, P)> {
        match self {
            Blocks::AsTheyCome(waiting) => {
                if let Some(other) = waiting.take() {
                    // Combine into the block with more members: an append, for example, then moves
                    // few elements.
                    return Some(if other.members < mine.members { mine.join(other) } else { other.join(mine) });
                }
                *waiting = Some(mine);
            }
            Blocks::InOrder(waiting) => waiting.push(mine),
            Blocks::Tree(waiting) => match waiting.entry(mine.other_half()) {
                Entry::Occupied(other) if other.get().members == mine.members => {
                    let other = other.remove();
                    return Some(if other.start < mine.start { other.join(mine) } else { mine.join(other) });
                }
                _ => _ = waiting.insert(mine.start, mine),
            },
        }
        None
    }
}
