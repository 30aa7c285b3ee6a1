//! Blocks allocated one by one from the system.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::class::Tag;
use super::{Block, LINE};

/// The alignment that the system gives by default.
#[cfg(feature = "catalogue")]
const GIVEN: usize = 16;

/// A block too large for any size class.
#[cold]
#[inline(never)]
pub(super) fn large_block(size: usize) -> Block {
    let lines = size.div_ceil(LINE);
    let tag = Tag::system(lines).unwrap_or_else(|| panic!("a block of {size} bytes is too large"));
    let start = ask(layout_of(lines * LINE));
    begin(start);
    Block { start, tag: tag.0 }
}

/// Gives back a block that is too large for a class.
///
/// # Safety
///
/// [`large_block`] made the block, with the number of bytes in its tag. Nothing uses it any more.
pub(super) unsafe fn free_large(start: NonNull<u8>, bytes: usize) {
    // SAFETY: by the caller, the block has this layout.
    unsafe { dealloc(start.as_ptr(), layout_of(bytes)) };
}

fn layout_of(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, LINE).expect("a tag holds less than the address space")
}

/// A block of any size. A larger alignment would make `malloc` several times as expensive. So this
/// requests more bytes, and the block begins at the first aligned address.
#[inline]
#[cfg(feature = "catalogue")]
pub(super) fn plain_block(size: usize) -> Block {
    let align = if size > 96 { LINE } else { super::BLOCK_ALIGN };
    let lines = (size + (align - GIVEN)).div_ceil(LINE).max(1);
    let memory = ask(plain_layout(lines));
    let skip = memory.addr().get().wrapping_neg() % align;
    let tag = Tag::plain(lines, skip / GIVEN).unwrap_or_else(|| panic!("a block of {size} bytes is too large"));
    // SAFETY: the skipped bytes are fewer than the additionally requested ones.
    let start = unsafe { memory.byte_add(skip) };
    begin(start);
    Block { start, tag: tag.0 }
}

/// Gives a [`plain_block`] back.
///
/// # Safety
///
/// `block` came from there, and nothing uses it any more.
#[inline]
#[cfg(feature = "catalogue")]
pub(super) unsafe fn free_plain(block: Block) {
    let (lines, skipped) = Tag(block.tag).plain_parts();
    // SAFETY: by the tag, the block begins this many bytes behind the system's memory.
    let memory = unsafe { block.start.byte_sub(skipped * GIVEN) };
    // SAFETY: by the tag, the memory has this layout.
    unsafe { dealloc(memory.as_ptr(), plain_layout(lines)) };
}

#[cfg(feature = "catalogue")]
fn plain_layout(lines: usize) -> Layout {
    Layout::from_size_align(lines * LINE, GIVEN).expect("a tag holds less than the address space")
}

#[inline]
fn ask(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is not 0: all blocks have at least a line.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Initializes the first word as a slab does: it counts uses (trait `Memory`).
#[inline]
fn begin(block: NonNull<u8>) {
    // SAFETY: the block was just allocated. It has at least a line, and is aligned to at least 16.
    unsafe { block.cast::<u64>().write(0) };
}
