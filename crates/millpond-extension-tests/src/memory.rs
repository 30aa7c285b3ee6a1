//! A memory manager: the system allocates and frees each block.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use millpond::memory::{Block, Memory};

/// Blocks of whole cache lines, from the global allocator.
#[derive(Debug)]
pub struct Malloc;

const LINE: usize = 64;

fn layout(lines: u32) -> Layout {
    Layout::from_size_align(lines as usize * LINE, LINE).expect("smaller than the address space")
}

// SAFETY: a block is a separate allocation, of at least `size` bytes, aligned to a line. Its first
// word is written before `alloc` returns. No block is stable, as `largest_stable` says.
unsafe impl Memory for Malloc {
    type Local = ();
    type Choice = ();

    const NAME: &'static str = "system";

    fn with(seats: usize, (): &()) -> (Self, Vec<()>) {
        (Malloc, vec![(); seats])
    }

    fn largest_stable(&self) -> usize {
        0
    }

    fn alloc(&self, (): &mut (), size: usize) -> Block {
        let lines = u32::try_from(size.div_ceil(LINE).max(1)).expect("a block of less than 256 GiB");
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout(lines)) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout(lines)));
        // SAFETY: the block is new, aligned, and larger than a word.
        unsafe { start.cast::<u64>().write(0) };
        Block { start, tag: lines }
    }

    unsafe fn free(&self, (): &mut (), block: Block) {
        // SAFETY: `alloc` made the block with this layout, and nothing uses it.
        unsafe { dealloc(block.start.as_ptr(), layout(block.tag)) };
    }

    fn idle(&self, (): &mut ()) {}
}
