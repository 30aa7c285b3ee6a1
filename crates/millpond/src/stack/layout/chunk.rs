//! The memory of a stack: blocks that hold frames, one after the other.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::memory::LINE;
use crate::sync::prefer_huge_pages;

/// Bytes of a stack's first chunk; each further one has twice those of the one before, up to [`LARGEST`], which is a huge page.
const FIRST: usize = 64 << 10;
const LARGEST: usize = 2 << 20;

/// What leads from the end of a chunk to the next one.
const LINK: usize = LINE;

#[derive(Debug)]
pub(in crate::stack) struct Chunk {
    start: NonNull<u8>,
    size: usize,
}

impl Chunk {
    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, if size >= LARGEST { LARGEST } else { LINE })
            .expect("a chunk is smaller than the address space")
    }

    /// A chunk of so many bytes, of zeros.
    pub(in crate::stack) fn new(size: usize) -> Chunk {
        let layout = Chunk::layout(size);
        // SAFETY: a chunk has a size.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        if size >= LARGEST {
            prefer_huge_pages(start, size);
        }
        // SAFETY: so much was allocated.
        unsafe { start.write_bytes(0, size) };
        Chunk { start, size }
    }

    /// A stack's chunk after `before` others, in which there is room for `least` bytes.
    pub(in crate::stack) fn after(before: usize, least: usize) -> Chunk {
        Chunk::new((FIRST << before.min(10)).min(LARGEST).max(least + LINK))
    }

    /// Whether that is so of this one.
    pub(in crate::stack) fn has_room(&self, least: usize) -> bool {
        self.size >= least + LINK
    }

    pub(in crate::stack) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Where the link is to the next one.
    pub(in crate::stack) fn end(&self) -> *mut u8 {
        self.start.as_ptr().wrapping_add(self.size - LINK)
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it in this layout.
        unsafe { dealloc(self.start.as_ptr(), Chunk::layout(self.size)) };
    }
}
