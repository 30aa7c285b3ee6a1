//! The parts of the paper's memory managers: the columns of [TP](crate#sources) Table 1.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A manager ([`Named`](crate::memory::Named)) has *bins*. A bin holds the free blocks of one size
//! class in one place. [`FreeLists`] says where the bins are, and whether workers balance them.
//! [`Links`] and [`Refill`] say what a bin consists of. [`Handling`] says in which order the
//! manager asks its sources.
//!
//! ```text
//!              central             distributed          central and distributed
//!
//!   worker 0 ──┐  lock          ┌─ bins ─ worker 0      ┌─ bins ─ worker 0
//!   worker 1 ──┴─▶ bins         │                       │    ⇅ 32 blocks at a time, under a lock
//!                               └─ bins ─ worker 1      │  shelves
//!                                                       │    ⇅
//!                                                       └─ bins ─ worker 1
//! ```
//!
//! The rows of the table are in [`variants`](crate::memory::variants). A [`Variant`] of your own
//! combines the parts in another way:
//!
//! ```
//! use millpond::memory::named::{FreeLists, Handling, Links, Parts, Refill, Variant};
//! use millpond::memory::{Memory, Named};
//!
//! /// Like `dlf`, but it asks the system for 64 blocks at a time.
//! #[derive(Debug)]
//! enum Mine {}
//!
//! impl Variant for Mine {
//!     const NAME: &'static str = "mine";
//!     const PARTS: Parts = Parts {
//!         free_lists: FreeLists::Distributed,
//!         links: Links::Blocks,
//!         refill: Refill::Some,
//!         handling: Handling::WhenNeeded,
//!         central_items: false,
//!     };
//! }
//!
//! let (manager, mut seats) = Named::<Mine>::new(1);
//! let block = manager.alloc(&mut seats[0], 100);
//! // SAFETY: the block is this manager's, and nothing uses it.
//! unsafe { manager.free(&mut seats[0], block) };
//! ```

/// The place of the free blocks ([TP](crate#sources) §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeLists {
    /// Nowhere: each block goes back to the system.
    None,
    /// In one place, behind a lock for each size class.
    Central,
    /// With each worker.
    Distributed,
    /// With each worker. Workers balance a surplus or a lack in one place, behind a lock for each
    /// size class.
    Both,
}

/// What links the free blocks of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Items: an item has a pointer to a block and one to the next item. An item whose block is in
    /// use is kept for another block.
    Items,
    /// The blocks themselves.
    Blocks,
}

/// How much memory the manager requests from the system when there is no free block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// One block.
    Elements,
    /// 64 blocks.
    Some,
    /// An array of 1 MiB.
    Whole,
}

/// When the manager cuts blocks from an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// One by one, when there are no free blocks, here or in the central list.
    WhenNeeded,
    /// All at once, after the allocation. They go onto the free list.
    AfterAllocation,
    /// One by one, before the central list is used.
    BeforeCentral,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The place of the free blocks.
    pub free_lists: FreeLists,
    /// What links them.
    pub links: Links,
    /// How much memory the manager requests from the system.
    pub refill: Refill,
    /// When the manager cuts blocks from the requested memory.
    pub handling: Handling,
    /// Whether workers balance spare items in one place, too. If not, each worker gets missing
    /// items from the system, and gives surplus ones back.
    pub central_items: bool,
}

/// A row of the table, as a type. The example of the [module](self) has a row that is not in the
/// paper.
pub trait Variant: std::fmt::Debug + Send + Sync + 'static {
    /// The name in the table.
    const NAME: &'static str;

    /// The parts of the manager.
    const PARTS: Parts;
}

impl Parts {
    /// The columns of the paper's table: the head and the entry of each.
    pub(crate) const fn columns(self) -> [(&'static str, &'static str); 5] {
        let Parts { free_lists, links, refill, handling, central_items } = self;
        let lists = match free_lists {
            FreeLists::None => "-",
            FreeLists::Central => "central",
            FreeLists::Distributed => "distributed",
            FreeLists::Both => "central + distributed",
        };
        let items = match (free_lists, links) {
            (FreeLists::None, _) => "-",
            (_, Links::Blocks) => "no",
            (FreeLists::Both, Links::Items) if central_items => "yes, balanced too",
            (_, Links::Items) => "yes",
        };
        let allocation = match (free_lists, refill) {
            (FreeLists::None, _) => "-",
            (_, Refill::Elements) => "elements",
            (_, Refill::Some) => "blocks for some elements",
            (_, Refill::Whole) => "blocks for whole lists",
        };
        let handling = match (refill, handling) {
            (Refill::Elements, _) => "-",
            (_, Handling::WhenNeeded) => "elements are removed when needed",
            (_, Handling::AfterAllocation) => "elements are removed after allocation",
            (_, Handling::BeforeCentral) => "elements are removed before the central list is asked",
        };
        let locking = match free_lists {
            FreeLists::None | FreeLists::Distributed => "-",
            FreeLists::Central | FreeLists::Both => "central lists",
        };
        [
            ("free lists", lists),
            ("items", items),
            ("memory allocation", allocation),
            ("block handling", handling),
            ("locking", locking),
        ]
    }
}
