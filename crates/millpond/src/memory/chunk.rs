//! Chunks of zeroed memory from the system, and the cutting of blocks from them.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::{LINE, poison};

/// Memory from the system, given back when dropped.
#[derive(Debug)]
pub(super) struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a chunk is an address and a layout; the system's allocator takes memory back on any thread.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Asks for the alignment that the system gives anyway: at a larger one it would have to write the zeros itself,
    /// where fresh pages already hold them. So the blocks of a chunk have up to a cache line less than `bytes`, at least
    /// one.
    pub(super) fn new(bytes: usize) -> Chunk {
        assert!(bytes >= 2 * LINE, "a chunk has room for a line, wherever it begins");
        let layout = Layout::from_size_align(bytes, align_of::<u64>()).expect("a chunk is small");
        // SAFETY: the size is not 0, as was just checked.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Chunk { start, layout }
    }

    /// The part that blocks can be cut from.
    fn usable(&self) -> (NonNull<u8>, usize) {
        let skip = self.start.addr().get().wrapping_neg() % LINE;
        // SAFETY: `skip` is less than `LINE`, and a chunk is larger.
        (unsafe { self.start.byte_add(skip) }, self.layout.size() - skip)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        poison::permit(self.start, self.layout.size());
        // SAFETY: `start` came from `alloc_zeroed` with this layout and goes back once. Nobody uses blocks of it any
        // more: chunks are dropped with the manager.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// What is left of the newest chunk that blocks of one size are cut from.
#[derive(Debug)]
pub(super) struct Rest {
    next: NonNull<u8>,
    blocks: usize,
}

impl Default for Rest {
    fn default() -> Self {
        Rest { next: NonNull::dangling(), blocks: 0 }
    }
}

impl Rest {
    /// Goes on with a new chunk, for at most so many blocks of `size` bytes.
    pub(super) fn open(&mut self, chunk: &Chunk, size: usize, most: usize) {
        let (start, bytes) = chunk.usable();
        poison::forbid(start, bytes);
        *self = Rest { next: start, blocks: most.min(bytes / size) };
    }

    /// Cuts off a block, zeroed, of the size for which the chunk was opened.
    ///
    /// # Safety
    ///
    /// `size` is the one that was given to the last `open`, whose chunk is still there.
    #[inline]
    pub(super) unsafe fn cut(&mut self, size: usize) -> Option<NonNull<u8>> {
        self.blocks = self.blocks.checked_sub(1)?;
        let block = self.next;
        // SAFETY: there was a block left, so the chunk, which is there by the caller, goes on for `size` bytes at least.
        self.next = unsafe { block.byte_add(size) };
        Some(block)
    }
}
