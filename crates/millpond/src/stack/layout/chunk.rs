//! The memory of a stack: blocks of consecutive frames.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::memory::LINE;
use crate::sync::prefer_huge_pages;

/// Bytes of a stack's first chunk. Each further chunk is twice as large as the one before, up to
/// [`HUGE_PAGE_BYTES`].
const FIRST_CHUNK_BYTES: usize = 64 << 10;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes of the link at the end of a chunk, which leads to the next one.
const LINK: usize = LINE;

#[derive(Debug)]
pub(in crate::stack) struct Chunk {
    start: NonNull<u8>,
    size: usize,
}

impl Chunk {
    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, if size >= HUGE_PAGE_BYTES { HUGE_PAGE_BYTES } else { LINE })
            .expect("a chunk is smaller than the address space")
    }

    /// A chunk of `size` bytes, all zero.
    pub(in crate::stack) fn new(size: usize) -> Chunk {
        let layout = Chunk::layout(size);
        // SAFETY: a chunk's size is not zero.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        if size >= HUGE_PAGE_BYTES {
            prefer_huge_pages(start, size);
        }
        // SAFETY: `size` bytes were allocated.
        unsafe { start.write_bytes(0, size) };
        Chunk { start, size }
    }

    /// The chunk of a stack after `before` others. It has room for `least` bytes.
    pub(in crate::stack) fn after(before: usize, least: usize) -> Chunk {
        Chunk::new((FIRST_CHUNK_BYTES << before.min(10)).min(HUGE_PAGE_BYTES).max(least + LINK))
    }

    /// Whether this chunk has room for `least` bytes.
    pub(in crate::stack) fn has_room(&self, least: usize) -> bool {
        self.size >= least + LINK
    }

    pub(in crate::stack) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Where the link to the next chunk goes.
    pub(in crate::stack) fn end(&self) -> *mut u8 {
        self.start.as_ptr().wrapping_add(self.size - LINK)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.start.as_ptr(), Chunk::layout(self.size)) };
    }
}
