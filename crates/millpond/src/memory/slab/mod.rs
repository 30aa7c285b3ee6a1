//! The default memory manager: each worker has slabs, by size class.
//!
//! - A worker takes a block from its own free list of the class, or cuts one from its chunk. No
//!   other worker touches these, so it pays no atomic operation.
//! - A block freed by its home goes back to that list. A block freed by another worker waits in a
//!   batch of its home and class. When the batch has 64 blocks, or the worker idles, one
//!   compare-and-swap sends it to the home's inbox.
//! - If its list is empty, the home takes the blocks in its inbox before it cuts fresh ones. So a
//!   worker that only spawns, for others that only run, needs a bounded number of blocks.
//! - Blocks that exceed the largest class come from the system and go back there.
//!
//! Chunks live until the manager is dropped. A local part may outlive the manager, but works only
//! with that manager. It identifies the manager by a number that is never used again.

use std::array;
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use super::chunk::Chunk;
use super::class::{CLASSES, LARGEST, MAX_SEATS, SIZES, Tag, class_of};
use super::{Block, Memory, poison, system};
use crate::sync::{Mutex, unique_number};
use fresh::Fresh;
use inbox::Inbox;
use list::{Batch, FreeList, LINK};

mod fresh;
mod inbox;
mod list;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

/// The number of blocks of one home and class sent home together.
const BATCH: usize = 64;

/// The default memory manager: free lists of each worker by size class, and batches of blocks sent
/// home.
#[derive(Debug)]
pub struct Slabs {
    id: u64,
    inboxes: Box<[CachePadded<Inbox>]>,
    chunks: Mutex<Vec<Chunk>>,
}

/// The default memory manager.
pub type DefaultMemory = Slabs;

/// The part of the manager that belongs to one worker: its slabs, and other workers' blocks waiting
/// to be sent home.
#[derive(Debug)]
pub struct Local {
    manager: u64,
    seat: u32,
    slabs: [Slab; CLASSES],
    batches: Batches,
}

// SAFETY: its pointers are to blocks that belong to this local part, on any thread.
unsafe impl Send for Local {}

/// The blocks of one class on their home worker.
#[derive(Debug)]
struct Slab {
    free: FreeList,
    fresh: Fresh,
}

/// The blocks of other workers that one worker freed.
#[derive(Debug)]
struct Batches {
    /// By home. An entry is made when the first block of that home is freed here.
    of_home: Box<[Option<Box<[Batch; CLASSES]>>]>,
    held: usize,
}

// SAFETY: a block is `SIZES[class] >= size` bytes of a chunk, or of the system. It is aligned as it
// must be: chunks and blocks of the system begin a line, and so do the blocks of a class that is a
// multiple of a line. The one class that is not is a multiple of `BLOCK_ALIGN`, and serves at most
// 96 bytes. Nothing else uses the block: it is cut once, and from then on is either in use or in
// one list, because `free` gets each block once. Chunks are freed with the manager. They come
// zeroed, a slab cuts blocks of one size, and the links of the lists are in the second word.
unsafe impl Memory for Slabs {
    type Local = Local;
    type Choice = ();

    const NAME: &'static str = "default";

    fn with(seats: usize, _choice: &()) -> (Self, Vec<Local>) {
        assert!(seats <= MAX_SEATS, "{seats} workers are too many for the tags of blocks");
        let id = unique_number();
        let inboxes = (0..seats).map(|_| CachePadded::new(Inbox::new())).collect();
        let locals = (0..seats).map(|seat| Local::new(id, seat as u32, seats)).collect();
        (Slabs { id, inboxes, chunks: Mutex::new(Vec::new()) }, locals)
    }

    #[inline]
    fn largest_stable(&self) -> usize {
        LARGEST
    }

    #[inline]
    fn alloc(&self, local: &mut Local, size: usize) -> Block {
        self.check(local);
        let Some(class) = class_of(size) else { return system::large_block(size) };
        let start = match local.slabs[class].free.pop(SIZES[class]) {
            Some(block) => block,
            None => self.refill(local, class),
        };
        poison::permit(start, SIZES[class]);
        Block { start, tag: Tag::class_block(local.seat, class).0 }
    }

    #[inline]
    unsafe fn free(&self, local: &mut Local, block: Block) {
        let tag = Tag(block.tag);
        if tag.home() != local.seat {
            // SAFETY: by the caller.
            return unsafe { self.free_elsewhere(local, block.start, tag) };
        }
        forbid_free(block.start, tag.class());
        // SAFETY: a block of a slab, because its tag has a home. By the caller, it is free and this
        // worker's.
        unsafe { local.slabs[tag.class()].free.push(block.start) };
    }

    fn idle(&self, local: &mut Local) {
        self.check(local);
        if local.batches.held != 0 {
            self.send_all(local);
        }
    }
}

impl Slabs {
    /// Refuses a local part of another manager: its blocks may end before this manager does.
    #[inline(always)]
    fn check(&self, local: &Local) {
        assert!(self.id == local.manager, "a local part of another manager");
    }

    /// Returns a block when the free list is empty: one from the inbox, else a fresh one.
    #[cold]
    #[inline(never)]
    fn refill(&self, local: &mut Local, class: usize) -> NonNull<u8> {
        let slab = &mut local.slabs[class];
        slab.free = self.inboxes[local.seat as usize].take(class);
        slab.free.pop(SIZES[class]).unwrap_or_else(|| {
            let keep = |chunk| self.chunks.lock().push(chunk);
            // SAFETY: a slab is of one class, so the size is always the same. The manager keeps the
            // chunks as long as it exists.
            unsafe { slab.fresh.cut(SIZES[class], keep) }
        })
    }

    /// Frees a block that is not from this worker's slabs.
    ///
    /// # Safety
    ///
    /// As for `Memory::free`, and `tag` is the block's.
    #[inline(never)]
    unsafe fn free_elsewhere(&self, local: &mut Local, start: NonNull<u8>, tag: Tag) {
        if let Some(bytes) = tag.system_bytes() {
            // SAFETY: its tag says that it is such a block, with this number of bytes. By the
            // caller, it is unused.
            return unsafe { system::free_large(start, bytes) };
        }
        let (home, class) = (tag.home() as usize, tag.class());
        forbid_free(start, class);
        let batches = local.batches.of_home[home].get_or_insert_default();
        // SAFETY: a block of a slab. By the caller, it is free and this worker's.
        let len = unsafe { batches[class].push(start) };
        local.batches.held += 1;
        if len == BATCH {
            self.send(local, home, class);
        }
    }

    fn send_all(&self, local: &mut Local) {
        for home in 0..self.inboxes.len() {
            (0..CLASSES).for_each(|class| self.send(local, home, class));
        }
        debug_assert_eq!(local.batches.held, 0);
    }

    fn send(&self, local: &mut Local, home: usize, class: usize) {
        let Some(batches) = &mut local.batches.of_home[home] else { return };
        let Some((chain, len)) = batches[class].take() else { return };
        local.batches.held -= len;
        // SAFETY: `free_elsewhere` put only free blocks of this home and class there, and gave them
        // to the batch.
        unsafe { self.inboxes[home].send(class, chain) };
    }
}

impl Local {
    fn new(manager: u64, seat: u32, seats: usize) -> Local {
        Local {
            manager,
            seat,
            slabs: array::from_fn(|_| Slab { free: FreeList::default(), fresh: Fresh::new() }),
            batches: Batches { of_home: (0..seats).map(|_| None).collect(), held: 0 },
        }
    }
}

/// Marks a freed block as unusable, except its first word.
#[inline(always)]
fn forbid_free(start: NonNull<u8>, class: usize) {
    // SAFETY: the offset is inside the block: the smallest block has 64 bytes.
    poison::forbid(unsafe { start.byte_add(LINK) }, SIZES[class] - LINK);
}
