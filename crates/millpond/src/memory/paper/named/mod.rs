//! The paper's memory managers: compositions of the parts in [`parts`] ([TP](crate#sources) §4.4,
//! §6.2, Table 1). The rows of the table are in [`variants`](super::variants).
//!
//! The paper's tasks and arguments have one size each. A runtime's blocks have many sizes, so each
//! size class has its own lists. The paper allocates the whole array of a list at the start. So
//! does [`Params::at_start`](super::params::Params::at_start). By default, the array comes with the
//! first block of its class. Another one follows when an array is used up.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::memory::chunk::Chunk;
use crate::memory::class::{CLASSES, LARGEST, SIZES, Tag, class_of};
use crate::memory::{Block, Memory, poison, system};
use crate::sync::{Mutex, unique_number};
use bin::{Bin, Shelf};

mod bin;
mod chain;
pub mod parts;
#[cfg(all(test, not(loom)))]
mod tests;

use super::params::Params;
use parts::{FreeLists, Refill, Variant};

/// The memory manager of a row of the paper's table ([TP](crate#sources) Table 1), or of a row of
/// your own ([`Variant`]).
///
/// `V` is the row: a type of [`variants`](crate::memory::variants), or one that you write.
/// [`AnyMemory`](crate::memory::AnyMemory) can be the manager of any row. Needs the Cargo feature
/// `catalogue`.
///
/// A block that is freed on a worker stays there, unless the manager has central lists. So consider
/// distributed lists alone, as the paper has them, and a program in which one worker spawns all
/// tasks and others run them. This program takes fresh memory for each task.
///
/// ```
/// use millpond::memory::{Memory, Named, variants::Dgbkof};
///
/// let (manager, mut seats) = Named::<Dgbkof>::new(2);
/// let block = manager.alloc(&mut seats[0], 100);
/// // SAFETY: the block is this manager's, and nothing uses it.
/// unsafe { manager.free(&mut seats[1], block) };
/// ```
#[derive(Debug)]
pub struct Named<V: Variant> {
    id: u64,
    /// For managers with central lists only: all blocks.
    bins: [Mutex<Bin>; CLASSES],
    /// For managers with central and distributed lists: the batches that balance the workers' bins.
    shelves: [Mutex<Shelf>; CLASSES],
    chunks: Mutex<Vec<Chunk>>,
    variant: PhantomData<V>,
}

/// The part of the manager that belongs to one worker.
#[derive(Debug)]
pub struct Local<V: Variant> {
    manager: u64,
    /// For managers with distributed lists: the worker's blocks.
    bins: [Bin; CLASSES],
    variant: PhantomData<fn() -> V>,
}

// SAFETY: its pointers are to free blocks, and to the items that link them. They belong to this
// local part, on any thread.
unsafe impl<V: Variant> Send for Local<V> {}

// SAFETY: a block is `SIZES[class] >= size` bytes of a chunk, or comes from the system. It is
// aligned as it must be: chunks begin a line, and so do the blocks of a class that is a multiple of
// a line. The one class that is not is a multiple of `BLOCK_ALIGN`, and serves at most 96 bytes.
// Nothing else uses the block: it is cut once, and from then on is either in use or in one bin or
// shelf, because `free` gets each block once. A bin belongs to one worker or is behind a lock; a
// shelf is behind a lock. The blocks of chunks are stable. The chunks come zeroed and are freed
// with the manager, a bin cuts blocks of one size, and links leave the first word alone.
unsafe impl<V: Variant> Memory for Named<V> {
    type Local = Local<V>;
    type Choice = Params;

    const NAME: &'static str = V::NAME;

    fn with(seats: usize, params: &Params) -> (Self, Vec<Local<V>>) {
        let id = unique_number();
        let local = |_| Local { manager: id, bins: Default::default(), variant: PhantomData };
        let (bins, shelves, chunks) = Default::default();
        let manager = Named { id, bins, shelves, chunks, variant: PhantomData };
        let mut locals: Vec<_> = (0..seats).map(local).collect();
        manager.prepare(&mut locals, params.at_start);
        (manager, locals)
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
            // SAFETY: without free lists, `alloc` makes such blocks. By the caller, it is unused.
            return unsafe { system::free_plain(block) };
        }
        let tag = Tag(block.tag);
        if let Some(bytes) = tag.system_bytes() {
            // SAFETY: its tag says that it is such a block, with this number of bytes. By the
            // caller, it is unused.
            return unsafe { system::free_large(block.start, bytes) };
        }
        let class = tag.class();
        forbid_free(block.start, class);
        match V::PARTS.free_lists {
            // SAFETY: a block of this class and this manager. By the caller, it is unused. This
            // holds here and below.
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
    /// Allocates the arrays for whole lists, for blocks of up to `at_start` bytes.
    fn prepare(&self, locals: &mut [Local<V>], at_start: usize) {
        if V::PARTS.refill != Refill::Whole || V::PARTS.free_lists == FreeLists::None || at_start == 0 {
            return;
        }
        let last = class_of(at_start.min(LARGEST)).expect("not larger than the largest class");
        for class in 0..=last {
            if V::PARTS.free_lists == FreeLists::Central {
                self.bins[class].lock().prepare(V::PARTS, class, &self.chunks);
            } else {
                locals.iter_mut().for_each(|local| local.bins[class].prepare(V::PARTS, class, &self.chunks));
            }
        }
    }

    /// Refuses a local part of another manager: its blocks may end before this manager does.
    #[inline(always)]
    fn check(&self, local: &Local<V>) {
        assert!(self.id == local.manager, "a local part of another manager");
    }
}

/// Marks a freed block as unusable, except its first word.
#[inline(always)]
fn forbid_free(start: NonNull<u8>, class: usize) {
    // SAFETY: the offset is inside the block: the smallest block has 64 bytes.
    poison::forbid(unsafe { start.byte_add(chain::LINK) }, SIZES[class] - chain::LINK);
}
