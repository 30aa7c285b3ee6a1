//! The free blocks of one size class in one place, and the shelf that balances several such places.

use std::ptr::NonNull;

use super::chain::{Chain, Link, Stock};
use super::parts::{Handling, Links, Parts, Refill};
use crate::memory::LINE;
use crate::memory::chunk::{Chunk, Rest};
use crate::memory::class::SIZES;
use crate::sync::Mutex;

/// The number of blocks in an array allocated when needed (TP: "some elements").
const SOME_BLOCKS: usize = 64;

/// The bytes of an array for a whole list.
const WHOLE_BYTES: usize = 1 << 20;

/// The free blocks of one size class in one place.
#[derive(Debug, Default)]
pub(super) struct Bin {
    /// Free blocks, or items that hold one each.
    free: Stock,
    /// Items that hold no block.
    spare: Stock,
    /// The rest of an array.
    rest: Rest,
    /// Whether `free` has items. It is set when the first block comes back.
    items: bool,
}

// SAFETY: the blocks and items to which it points belong to its holder, on any thread.
unsafe impl Send for Bin {}

/// Batches of one size class. Workers balance their bins with them.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    blocks: Vec<Chain>,
    items: Vec<Chain>,
    /// The same as [`Bin::items`].
    has_items: bool,
}

/// Links a free block to the next one, if the block itself has no link.
#[repr(C)]
struct Item {
    block: NonNull<u8>,
    next: Link,
}

impl Bin {
    /// Returns a block. A free block comes first, one from the system last.
    #[inline]
    pub(super) fn take(
        &mut self,
        parts: Parts,
        class: usize,
        shelf: Option<&Mutex<Shelf>>,
        chunks: &Mutex<Vec<Chunk>>,
    ) -> NonNull<u8> {
        match self.pop(parts, shelf) {
            Some(block) => block,
            None => self.refill(parts, class, shelf, chunks),
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(
        &mut self,
        parts: Parts,
        class: usize,
        shelf: Option<&Mutex<Shelf>>,
        chunks: &Mutex<Vec<Chunk>>,
    ) -> NonNull<u8> {
        let size = SIZES[class];
        // SAFETY: a bin is of one class, and the manager keeps its chunks as long as it exists.
        // This holds here and below.
        let cut = |rest: &mut Rest| unsafe { rest.cut(size) };
        if parts.handling == Handling::BeforeCentral
            && let Some(block) = cut(&mut self.rest)
        {
            return block;
        }
        if let Some(batch) = shelf.and_then(|shelf| shelf.lock().blocks.pop()) {
            self.free.restock(batch);
            self.items = parts.links == Links::Items;
            return self.pop(parts, shelf).expect("a batch has blocks");
        }
        if let Some(block) = cut(&mut self.rest) {
            return block;
        }
        self.open(parts, class, chunks);
        let first = cut(&mut self.rest).expect("a chunk has room for a block");
        if parts.handling == Handling::AfterAllocation {
            self.cut_all(parts, class, shelf);
        }
        first
    }

    /// Allocates the first array, before any block is needed.
    pub(super) fn prepare(&mut self, parts: Parts, class: usize, chunks: &Mutex<Vec<Chunk>>) {
        self.open(parts, class, chunks);
        if parts.handling == Handling::AfterAllocation {
            self.cut_all(parts, class, None);
        }
    }

    /// Continues with a new array.
    fn open(&mut self, parts: Parts, class: usize, chunks: &Mutex<Vec<Chunk>>) {
        let size = SIZES[class];
        let most = match parts.refill {
            Refill::Elements => 1,
            Refill::Some => SOME_BLOCKS,
            Refill::Whole => WHOLE_BYTES / size,
        };
        let chunk = Chunk::new(most * size + LINE);
        self.rest.open(&chunk, size, most);
        chunks.lock().push(chunk);
    }

    /// Puts the blocks of the array onto the free list.
    fn cut_all(&mut self, parts: Parts, class: usize, shelf: Option<&Mutex<Shelf>>) {
        // SAFETY: as in `refill`.
        while let Some(block) = unsafe { self.rest.cut(SIZES[class]) } {
            // SAFETY: the block is fresh, and of this class.
            let node = unsafe { self.node_of(parts, block, shelf) };
            // SAFETY: a node of this bin. The push is not bounded: these blocks were allocated for
            // this bin.
            unsafe { self.free.push(node) };
        }
    }

    /// Takes a free block back.
    ///
    /// # Safety
    ///
    /// `block` is of this bin's class and manager, and nothing uses it.
    #[inline]
    pub(super) unsafe fn give(&mut self, parts: Parts, block: NonNull<u8>, shelf: Option<&Mutex<Shelf>>) {
        // SAFETY: by the caller.
        let node = unsafe { self.node_of(parts, block, shelf) };
        let Some(shelf) = shelf else {
            // SAFETY: a node of this bin.
            return unsafe { self.free.push(node) };
        };
        // SAFETY: as above.
        if let Some(batch) = unsafe { self.free.push_bounded(node) } {
            shelf.lock().put_blocks(batch, self.items);
        }
    }

    /// Gives all free blocks to other workers.
    pub(super) fn give_all(&mut self, shelf: &Mutex<Shelf>) {
        for chain in self.free.take_all() {
            shelf.lock().put_blocks(chain, self.items);
        }
    }

    /// Returns the node that represents a block on the free list.
    ///
    /// # Safety
    ///
    /// As for [`give`](Bin::give).
    #[inline]
    unsafe fn node_of(&mut self, parts: Parts, block: NonNull<u8>, shelf: Option<&Mutex<Shelf>>) -> NonNull<u8> {
        if parts.links == Links::Blocks {
            return block;
        }
        self.items = true;
        let item = self.spare.pop().or_else(|| self.central_item(parts, shelf));
        let item = item.map_or_else(Item::ask, NonNull::cast::<Item>);
        // SAFETY: an item of this bin, which holds no block.
        unsafe { (*item.as_ptr()).block = block };
        item.cast()
    }

    /// The number of items that hold no block.
    #[cfg(all(test, not(loom)))]
    pub(super) fn count_spare(&self) -> usize {
        self.spare.len()
    }

    #[cold]
    fn central_item(&mut self, parts: Parts, shelf: Option<&Mutex<Shelf>>) -> Link {
        if !parts.central_items {
            return None;
        }
        let batch = shelf?.lock().items.pop()?;
        self.spare.restock(batch);
        self.spare.pop()
    }

    /// Takes a free block.
    #[inline]
    fn pop(&mut self, parts: Parts, shelf: Option<&Mutex<Shelf>>) -> Link {
        let node = self.free.pop()?;
        if parts.links == Links::Blocks {
            return Some(node);
        }
        // SAFETY: with items, all nodes of the free list are items that hold a block.
        let block = unsafe { node.cast::<Item>().as_ref() }.block;
        let Some(shelf) = shelf else {
            // SAFETY: an item of this bin.
            unsafe { self.spare.push(node) };
            return Some(block);
        };
        // SAFETY: as above.
        if let Some(batch) = unsafe { self.spare.push_bounded(node) } {
            if parts.central_items { shelf.lock().put_items(batch) } else { Item::end_all(batch) }
        }
        Some(block)
    }
}

impl Shelf {
    fn put_blocks(&mut self, batch: Chain, of_items: bool) {
        self.has_items |= of_items;
        self.blocks.push(batch);
    }

    fn put_items(&mut self, batch: Chain) {
        self.items.push(batch);
    }

    /// The number of items here that hold no block.
    #[cfg(all(test, not(loom)))]
    pub(super) fn count_items(&self) -> usize {
        self.items.iter().map(Chain::len).sum()
    }
}

impl Item {
    /// Allocates an item.
    #[cold]
    fn ask() -> NonNull<Item> {
        NonNull::from(Box::leak(Box::new(Item { block: NonNull::dangling(), next: None })))
    }

    /// Frees items. The blocks that they hold belong to chunks.
    #[cold]
    fn end_all(mut chain: Chain) {
        while let Some(node) = chain.pop() {
            // SAFETY: `ask` made the item, and it belongs to the holder of the chain.
            drop(unsafe { Box::from_raw(node.cast::<Item>().as_ptr()) });
        }
    }
}

impl Drop for Bin {
    fn drop(&mut self) {
        self.spare.take_all().for_each(Item::end_all);
        if self.items {
            self.free.take_all().for_each(Item::end_all);
        }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.items.drain(..).for_each(Item::end_all);
        if self.has_items {
            self.blocks.drain(..).for_each(Item::end_all);
        }
    }
}
