//! How the parts of a reduction come together, and the storage that is spare meanwhile.
//!
//! What members have come to is a *block*: one part. Under the lock a block only changes hands; it is combined outside.
//!
//! 1. Who is to start takes what is spare, a part that is the identity if there is one; else it makes its part.
//! 2. Who has ended brings its part as a block of one member (`meet`). Under the lock: either another block is there
//!    for it to be combined with, which is taken out, and the caller has both; or its own stays.
//! 3. Who has two combines them, which leaves one block, and storage that is spare; with both it goes on at step 2.
//! 4. The scheme orders the combine task after all members. It has what is left, in reference order (`end`).
//!
//! Which other block, says the shape. *As they come*: any; so one at most waits, and they are as many as tasks run at
//! once. *In order*: none. *Tree*: a block of level k at b, a multiple of 2^k, is what members b to b + 2^k - 1 have
//! come to, and meets the other half of a block of level k + 1. So the operands of each combination follow from the
//! number of members alone, the depth is logarithmic, and workers combine different blocks at once (TG §2.2). What is
//! left has the sizes of the binary digits of that number, and is combined left to right.
//!
//! * Two halves come at once: the lock lets one stay and the other find it. Not both stay, not both find.
//! * A combination fails (`fail`): as they come, its task fails. In a tree both blocks are gone, and what they are
//!   halves of is never met. Which combinations take place, and so which fail, follows from the members that brought a
//!   part, whatever came first; the combine task fails with the first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;

use crate::panics::PanicPayload;
use crate::sync::Spinning;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self). `P` is a part, given up by whoever brings it.
#[derive(Debug)]
pub(super) struct Parts<P>(Spinning<State<P>>);

#[derive(Debug)]
struct State<P> {
    blocks: Blocks<P>,
    spares: Vec<Spare<P>>,
    /// The first combination that failed, by its place.
    failed: Option<(u32, PanicPayload)>,
}

/// The blocks that wait, by shape.
#[derive(Debug)]
pub(super) enum Blocks<P> {
    AsTheyCome(Option<Block<P>>),
    InOrder(Vec<Block<P>>),
    /// By their first member.
    Tree(HashMap<u32, Block<P>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    AsTheyCome,
    InOrder,
    Tree,
}

/// What some members have come to.
#[derive(Debug)]
pub(super) struct Block<P> {
    /// Its first member.
    start: u32,
    /// How many; in a tree a power of two.
    members: u32,
    pub(super) part: P,
}

/// Storage of a part, for the next one.
#[derive(Debug)]
pub(super) enum Spare<P> {
    /// It holds the identity.
    Identity(P),
    /// It holds nothing.
    Room(P),
}

impl<P> Block<P> {
    /// What one member has come to.
    pub(super) fn new(member: u32, part: P) -> Self {
        Block { start: member, members: 1, part }
    }

    /// Where the other half of the block around it starts, in a tree.
    fn other_half(&self) -> u32 {
        self.start ^ self.members
    }

    /// The block that the part of `other` is to be combined into, and that part.
    fn join(self, other: Self) -> (Self, P) {
        (Block { members: self.members + other.members, ..self }, other.part)
    }
}

impl<P> Parts<P> {
    pub(super) fn new(shape: Shape) -> Self {
        let blocks = match shape {
            Shape::AsTheyCome => Blocks::AsTheyCome(None),
            Shape::InOrder => Blocks::InOrder(Vec::new()),
            Shape::Tree => Blocks::Tree(HashMap::new()),
        };
        Parts(Spinning::new(State { blocks, spares: Vec::new(), failed: None }))
    }

    /// Step 1. The last that was left: the most likely to be in this processor's cache.
    pub(super) fn spare(&self) -> Option<Spare<P>> {
        self.0.with(|state| state.spares.pop())
    }

    pub(super) fn keep(&self, spare: Spare<P>) {
        self.0.with(|state| state.spares.push(spare));
    }

    /// Step 2: the block into which a part is to be combined, and the part. Keeps what the last combination has spared.
    pub(super) fn meet(&self, mine: Block<P>, spare: Option<Spare<P>>) -> Option<(Block<P>, P)> {
        self.0.with(|state| {
            state.spares.extend(spare);
            state.blocks.meet(mine)
        })
    }

    /// The combination into `block` failed. Gives `caught` back if that is its task's failure.
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
        // Without the lock: it may hold any value.
        drop(later);
        own
    }

    /// Step 4: what is left, in reference order, and the failure of the combination that comes first.
    pub(super) fn end(&self) -> (impl Iterator<Item = P> + use<P>, Option<PanicPayload>) {
        let (left, failed) =
            self.0.with(|state| (mem::replace(&mut state.blocks, Blocks::AsTheyCome(None)), state.failed.take()));
        let mut left: Vec<_> = match left {
            Blocks::AsTheyCome(waiting) => waiting.into_iter().collect(),
            Blocks::InOrder(waiting) => waiting,
            Blocks::Tree(waiting) => waiting.into_values().collect(),
        };
        left.sort_unstable_by_key(|block| block.start);
        (left.into_iter().map(|block| block.part), failed.map(|(_, caught)| caught))
    }
}

impl<P> Blocks<P> {
    /// The block that another is to be combined with, and its part; none if that waits now.
    fn meet(&mut self, mine: Block<P>) -> Option<(Block<P>, P)> {
        match self {
            Blocks::AsTheyCome(waiting) => {
                if let Some(other) = waiting.take() {
                    // Into the one of more members: of what is appended, say, little is moved.
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
