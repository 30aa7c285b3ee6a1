//! Chunks of zeroed memory from the system, and the cutting of blocks from them.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::super::LINE;
use super::poison;

const FIRST_BYTES: usize = 16 << 10;
const LAST_BYTES: usize = 1 << 20;

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
    /// where fresh pages already hold them.
    fn new(bytes: usize) -> Chunk {
        let layout = Layout::from_size_align(bytes, align_of::<u64>()).expect("a chunk is small");
        // SAFETY: the size is not 0: chunks have at least `FIRST_BYTES`.
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

/// What is left of a worker's newest chunk of one class.
#[derive(Debug)]
pub(super) struct Fresh {
    next: NonNull<u8>,
    blocks_left: usize,
    chunk_bytes: usize,
}

impl Fresh {
    pub(super) fn new() -> Fresh {
        Fresh { next: NonNull::dangling(), blocks_left: 0, chunk_bytes: FIRST_BYTES }
    }

    /// Cuts off a block of `size` bytes, zeroed; `keep` is given the chunk if a new one was needed, and must hold it
    /// as long as the block may be used. All calls give the same size.
    pub(super) fn cut(&mut self, size: usize, keep: impl FnOnce(Chunk)) -> NonNull<u8> {
        if self.blocks_left == 0 {
            keep(self.open_chunk(size));
        }
        let block = self.next;
        self.blocks_left -= 1;
        // SAFETY: there was a block left, so the chunk goes on for `size` bytes at least.
        self.next = unsafe { block.byte_add(size) };
        block
    }

    /// Chunks grow, so that few tasks cost little memory and many cost few calls.
    fn open_chunk(&mut self, size: usize) -> Chunk {
        let chunk = Chunk::new(self.chunk_bytes);
        let (start, bytes) = chunk.usable();
        poison::forbid(start, bytes);
        self.next = start;
        self.blocks_left = bytes / size;
        self.chunk_bytes = (self.chunk_bytes * 2).min(LAST_BYTES);
        chunk
    }
}
