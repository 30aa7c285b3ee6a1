//! Lists of free blocks, linked through the blocks themselves.
//!
//! ```text
//!      0          8          16         24                  size
//!     +----------+----------+----------+---------------------+
//!     | last use |   next   |  ahead   |   last use, stale   |     a free block
//!     +----------+----------+----------+---------------------+
//! ```
//!
//! The links come behind the first word, which stays as its last user wrote it (trait `Memory`). If
//! the block was freed on another worker, `ahead` is set to a block a few places after the next
//! one. The lines of that block are in the cache of another processor, and the worker that takes
//! this block prefetches them. Along `next` alone, the worker would find that block too late.

use std::mem;
use std::ptr::NonNull;

use super::super::poison;
use crate::sync::prefetch_for_write;

/// The start of a free block, or the end of a list.
pub(super) type Link = Option<NonNull<u8>>;

/// The links that a free block holds.
#[derive(Clone, Copy)]
#[repr(C)]
struct Links {
    next: Link,
    ahead: Link,
}

/// The offset of the links, in bytes.
pub(super) const LINK: usize = size_of::<u64>();

/// The distance of `ahead`, in blocks: fetching the lines of a block takes as long as several
/// spawns.
const AHEAD: usize = 4;

/// The place of the links in `block`.
///
/// # Safety
///
/// `block` is the start of a block of a slab.
#[inline(always)]
unsafe fn links_of(block: NonNull<u8>) -> NonNull<Links> {
    // SAFETY: by the caller, this is a block. The smallest block has 64 bytes, so the offset of 8
    // bytes is inside it.
    unsafe { block.byte_add(LINK) }.cast()
}

/// The links of `block`.
///
/// # Safety
///
/// `block` is the start of a free block of a slab, in a list that the caller owns.
#[inline(always)]
unsafe fn links(block: NonNull<u8>) -> Links {
    // SAFETY: by the caller, it is a block of a slab.
    let at = unsafe { links_of(block) };
    poison::permit(at.cast(), size_of::<Links>());
    // SAFETY: the links are mapped: only calls on their manager use lists, and the manager keeps
    // the chunks. They are aligned, as blocks are aligned to 64. They are valid `Links`, because a
    // block gets them when it enters a list. No thread writes them meanwhile: the list is the
    // caller's.
    let links = unsafe { at.read() };
    poison::forbid(at.cast(), size_of::<Links>());
    links
}

/// Makes `next` follow `block`.
///
/// # Safety
///
/// `block` is the start of a free block of a slab, and the caller owns it.
#[inline(always)]
unsafe fn set_links(block: NonNull<u8>, next: Link, ahead: Link) {
    // SAFETY: by the caller, it is a block of a slab.
    let at = unsafe { links_of(block) };
    poison::permit(at.cast(), size_of::<Links>());
    // SAFETY: mapped and aligned as in `links`. No other thread touches the block past its first
    // word, because it is free and the caller's.
    unsafe { at.write(Links { next, ahead }) };
    poison::forbid(at.cast(), size_of::<Links>());
}

/// The free blocks of one class on their home worker, last freed first.
#[derive(Debug, Default)]
pub(super) struct FreeList {
    head: Link,
}

impl FreeList {
    /// Makes a list of a chain that came home.
    ///
    /// # Safety
    ///
    /// `head` starts a chain of free blocks that the caller owns.
    pub(super) unsafe fn of_chain(head: Link) -> FreeList {
        FreeList { head }
    }

    /// # Safety
    ///
    /// `block` is the start of a free block of a slab, and the caller owns it.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, block: NonNull<u8>) {
        // SAFETY: by the caller.
        unsafe { set_links(block, self.head, None) };
        self.head = Some(block);
    }

    /// Takes the block that was freed last. Prefetches the lines of the next blocks, `size` bytes
    /// each, because another worker may have written them.
    #[inline(always)]
    pub(super) fn pop(&mut self, size: usize) -> Link {
        let block = self.head?;
        // SAFETY: `push` and `of_chain` add only free blocks of slabs, and the owners of those gave
        // them to this list.
        let Links { next, ahead } = unsafe { links(block) };
        self.head = next;
        if let Some(next) = next {
            prefetch_for_write(next, size);
        }
        if let Some(ahead) = ahead {
            prefetch_for_write(ahead, size);
        }
        Some(block)
    }
}

/// Blocks of one class and one home, to be sent there: a chain whose two ends are known.
#[derive(Debug, Default)]
pub(super) struct Batch {
    ends: Option<Chain>,
    len: usize,
    /// The blocks that were pushed last, used in turn.
    recent: [Link; AHEAD],
}

/// The ends of a chain of free blocks that its holder owns. The last block's link has no meaning
/// until it is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) head: NonNull<u8>,
    tail: NonNull<u8>,
}

impl Chain {
    /// Makes `next` follow the last block.
    ///
    /// # Safety
    ///
    /// The caller still owns the chain.
    pub(super) unsafe fn continue_with(self, next: Link) {
        // SAFETY: `tail` is a free block of a slab. The caller owns it.
        unsafe { set_links(self.tail, next, None) };
    }
}

impl Batch {
    /// Adds a block. Returns the new number of blocks.
    ///
    /// # Safety
    ///
    /// `block` is the start of a free block of a slab, and the caller owns it.
    #[inline]
    pub(super) unsafe fn push(&mut self, block: NonNull<u8>) -> usize {
        let old = self.ends;
        let ahead = self.recent[self.len % AHEAD].replace(block);
        // SAFETY: by the caller.
        unsafe { set_links(block, old.map(|chain| chain.head), ahead) };
        self.ends = Some(Chain { head: block, tail: old.map_or(block, |chain| chain.tail) });
        self.len += 1;
        self.len
    }

    /// Takes the whole batch. Returns it with its number of blocks.
    pub(super) fn take(&mut self) -> Option<(Chain, usize)> {
        let chain = self.ends.take()?;
        self.recent = [None; AHEAD];
        Some((chain, mem::take(&mut self.len)))
    }
}
