//! The paper's memory managers: compositions of a few parts ([TP](crate#sources) §4.4, §6.2, Table 1).
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A manager has *bins*: the free blocks of one size class in one place. Where its bins are, and whether there is
//! something to balance between them, says [`FreeLists`]; what a bin is made of, [`Links`] and [`Refill`]; in which order
//! it is asked, [`Handling`]. The rows of the table are in [`variants`](super::variants).
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
//! The paper's tasks and arguments have one size each; a runtime's blocks have many, so each size class has lists of its
//! own. Where the paper allocates a list's whole array at the start, here it comes with the first block of its class, and
//! another follows when it is used up.
//!
//! A block that is freed on a worker stays there, unless the manager has central lists. So with distributed lists alone,
//! as the paper has them, a program in which one worker spawns all tasks and others run them takes fresh memory for each.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::memory::chunk::Chunk;
use crate::memory::class::{CLASSES, LARGEST, SIZES, Tag, class_of};
use crate::memory::{Block, Memory, poison, system};
use crate::sync::{Mutex, unique_number};
use bin::{Bin, Shelf};

mod bin;
mod chain;
mod parts;
#[cfg(all(test, not(loom)))]
mod tests;

pub use parts::{FreeLists, Handling, Links, Parts, Refill, Variant};

/// The memory manager of a row of the paper's table; [`AnyMemory`](crate::memory::any::AnyMemory) is that of any.
///
/// ```
/// use millpond::memory::Memory;
/// use millpond::memory::named::Named;
/// use millpond::memory::variants::Dgbkof;
///
/// let (manager, mut seats) = Named::<Dgbkof>::new(2);
/// let block = manager.alloc(&mut seats[0], 100);
/// // SAFETY: the block is this manager's, and nobody uses it.
/// unsafe { manager.free(&mut seats[1], block) };
/// ```
#[derive(Debug)]
pub struct Named<V: Variant> {
    id: u64,
    /// With central lists alone: all blocks.
    bins: [Mutex<Bin>; CLASSES],
    /// With central and distributed lists: what the workers balance.
    shelves: [Mutex<Shelf>; CLASSES],
    chunks: Mutex<Vec<Chunk>>,
    variant: PhantomData<V>,
}

/// What one worker keeps.
#[derive(Debug)]
pub struct Local<V: Variant> {
    manager: u64,
    /// With distributed lists: the worker's blocks.
    bins: [Bin; CLASSES],
    variant: PhantomData<fn() -> V>,
}

// SAFETY: its pointers are to free blocks, and to what links them, that belong to this local part, whatever thread holds
// it.
unsafe impl<V: Variant> Send for Local<V> {}

// SAFETY: a block is `SIZES[class] >= size` bytes of a chunk, or comes from the system, aligned as it must be: chunks
// begin a line, and so do the blocks of a class that is a multiple of one; the one class that is not is a multiple of
// `BLOCK_ALIGN`, and serves at most 96 bytes. Nobody else uses it: it is cut once, and from then on is either in use or in
// one bin or shelf, since `free` gets each block once; those are a worker's own or behind a lock. What comes from chunks
// is stable: they are freed with the manager and come zeroed, a bin cuts blocks of one size, and links leave the first
// word alone.
unsafe impl<V: Variant> Memory for Named<V> {
    type Local = Local<V>;
    type Choice = ();

    const NAME: &'static str = V::NAME;

    fn with(seats: usize, _choice: &()) -> (Self, Vec<Local<V>>) {
        let id = unique_number();
        let local = |_| Local { manager: id, bins: Default::default(), variant: PhantomData };
        let (bins, shelves, chunks) = Default::default();
        (Named { id, bins, shelves, chunks, variant: PhantomData }, (0..seats).map(local).collect())
    }

    #[inline]
    fn largest_stable(&self) -> usize {
        if V::PARTS.free_lists == FreeLists::None { 0 } else { LARGEST }
    }

    #[inline]
    fn alloc(&self, local: &mut Local<V>, size: usize) -> Block {
        self.check(local);
        if V::PARTS.free_lists == FreeLists::None {
            return system::plain_block(size);
        }
        let Some(class) = class_of(size) else { return system::large_block(size) };
        let start = match V::PARTS.free_lists {
            FreeLists::None | FreeLists::Central => self.bins[class].lock().take(V::PARTS, class, None, &self.chunks),
            FreeLists::Distributed => local.bins[class].take(V::PARTS, class, None, &self.chunks),
            FreeLists::Both => local.bins[class].take(V::PARTS, class, Some(&self.shelves[class]), &self.chunks),
        };
        poison::permit(start, SIZES[class]);
        Block { start, tag: Tag::class_block(0, class).0 }
    }

    #[inline]
    unsafe fn free(&self, local: &mut Local<V>, block: Block) {
        if V::PARTS.free_lists == FreeLists::None {
            // SAFETY: without free lists, `alloc` makes such blocks; unused, by the caller.
            return unsafe { system::free_plain(block) };
        }
        let tag = Tag(block.tag);
        if let Some(bytes) = tag.system_bytes() {
            // SAFETY: its tag says that it is such a block, of so many bytes; unused, by the caller.
            return unsafe { system::free_large(block.start, bytes) };
        }
        let class = tag.class();
        forbid_free(block.start, class);
        match V::PARTS.free_lists {
            // SAFETY: a block of this class of this manager; unused, by the caller. Here and below.
            FreeLists::None | FreeLists::Central => unsafe {
                self.bins[class].lock().give(V::PARTS, block.start, None)
            },
            // SAFETY: as above.
            FreeLists::Distributed => unsafe { local.bins[class].give(V::PARTS, block.start, None) },
            FreeLists::Both => {
                let shelf = Some(&self.shelves[class]);
                // SAFETY: as above.
                unsafe { local.bins[class].give(V::PARTS, block.start, shelf) }
            }
        }
    }

    fn idle(&self, local: &mut Local<V>) {
        self.check(local);
        if V::PARTS.free_lists == FreeLists::Both {
            local.bins.iter_mut().zip(&self.shelves).for_each(|(bin, shelf)| bin.give_all(shelf));
        }
    }
}

impl<V: Variant> Named<V> {
    /// A local part of another manager has blocks that may end before this one does.
    #[inline(always)]
    fn check(&self, local: &Local<V>) {
        assert!(self.id == local.manager, "a local part of another manager");
    }
}

/// Marks a freed block, all but its first word.
#[inline(always)]
fn forbid_free(start: NonNull<u8>, class: usize) {
    // SAFETY: inside the block: the smallest has 64 bytes.
    poison::forbid(unsafe { start.byte_add(chain::LINK) }, SIZES[class] - chain::LINK);
}
