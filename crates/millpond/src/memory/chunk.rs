//! Chunks of zeroed memory from the system. Managers cut blocks from them.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::{LINE, poison};

/// Memory from the system, given back by the drop.
#[derive(Debug)]
pub(super) struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a chunk is an address and a layout. The system's allocator takes memory back on any
// thread.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Allocates a chunk with the system's usual alignment. For a larger alignment, the system
    /// would write the zeros, although fresh pages already hold zeros. So the blocks of a chunk
    /// have up to a cache line less than `bytes`, and at least one line.
    pub(super) fn new(bytes: usize) -> Chunk {
        assert!(bytes >= 2 * LINE, "a chunk has room for a line, wherever it begins");
        let layout = Layout::from_size_align(bytes, align_of::<u64>()).expect("a chunk is small");
        // SAFETY: the assertion has checked that the size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Chunk { start, layout }
    }

    /// The part from which blocks can be cut.
    fn usable(&self) -> (NonNull<u8>, usize) {
        let skip = self.start.addr().get().wrapping_neg() % LINE;
        // SAFETY: `skip` is less than `LINE`, and a chunk is larger.
        (unsafe { self.start.byte_add(skip) }, self.layout.size() - skip)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        poison::permit(self.start, self.layout.size());
        // SAFETY: `start` came from `alloc_zeroed` with this layout, and goes back once. No thread
        // uses its blocks any more: chunks are dropped with the manager.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// The rest of the newest chunk. Blocks of one size are cut from it.
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
    /// Continues with a new chunk, for at most `most` blocks of `size` bytes.
    pub(super) fn open(&mut self, chunk: &Chunk, size: usize, most: usize) {
        let (start, bytes) = chunk.usable();
        poison::forbid(start, bytes);
        *self = Rest { next: start, blocks: most.min(bytes / size) };
    }

    /// Cuts off a zeroed block of the size for which the chunk was opened.
    ///
    /// # Safety
    ///
    /// `size` is the size that the last call of `open` got, and the chunk of that call still
    /// exists.
    #[inline]
    pub(super) unsafe fn cut(&mut self, size: usize) -> Option<NonNull<u8>> {
        self.blocks = self.blocks.checked_sub(1)?;
        let block = self.next;
        // SAFETY: there was a block left. The chunk exists, by the caller, so it has at least
        // `size` more bytes here.
        self.next = unsafe { block.byte_add(size) };
        Some(block)
    }
}
