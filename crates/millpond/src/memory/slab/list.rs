//! Lists of free blocks, linked through the blocks themselves.
//!
//! ```text
//!      0          8          16                  size
//!     +----------+----------+---------------------+
//!     | last use |   link   |   last use, stale   |     a free block
//!     +----------+----------+---------------------+
//! ```
//!
//! The link is the second word: the first is left as its last user wrote it (trait `Memory`).

use std::mem;
use std::ptr::NonNull;

use super::poison;
use crate::sync::prefetch_for_write;

/// The start of a free block, or the end of a list.
pub(super) type Link = Option<NonNull<u8>>;

/// Where the link is, in bytes; its size is the same.
pub(super) const LINK: usize = size_of::<u64>();

/// The link's place in `block`.
///
/// # Safety
///
/// `block` is the start of a block of a slab.
#[inline(always)]
unsafe fn link_of(block: NonNull<u8>) -> NonNull<Link> {
    // SAFETY: by the caller; the smallest block has 64 bytes, so 8 bytes on is still inside it.
    unsafe { block.byte_add(LINK) }.cast()
}

/// The block after `block`.
///
/// # Safety
///
/// `block` is the start of a free block of a slab, in a list that the caller owns.
#[inline(always)]
unsafe fn next(block: NonNull<u8>) -> Link {
    // SAFETY: a slab's block, by the caller.
    let link = unsafe { link_of(block) };
    poison::permit(link.cast(), size_of::<Link>());
    // SAFETY: mapped (lists are used by calls on their manager only, which keeps the chunks), aligned (blocks are to
    // 64), and a `Link` since a block gets one when it enters a list. Nobody writes it meanwhile: the list is the
    // caller's.
    let next = unsafe { link.read() };
    poison::forbid(link.cast(), size_of::<Link>());
    next
}

/// Puts `next` after `block`.
///
/// # Safety
///
/// `block` is the start of a free block of a slab, and the caller owns it.
#[inline(always)]
unsafe fn set_next(block: NonNull<u8>, next: Link) {
    // SAFETY: a slab's block, by the caller.
    let link = unsafe { link_of(block) };
    poison::permit(link.cast(), size_of::<Link>());
    // SAFETY: mapped and aligned as in `next`; nobody else touches the block past its first word, since it is free
    // and the caller's.
    unsafe { link.write(next) };
    poison::forbid(link.cast(), size_of::<Link>());
}

/// The free blocks of one class on their home worker, last freed first.
#[derive(Debug, Default)]
pub(super) struct FreeList {
    head: Link,
}

impl FreeList {
    /// The list of a chain that came home.
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
        unsafe { set_next(block, self.head) };
        self.head = Some(block);
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Link {
        let block = self.head?;
        // SAFETY: `push` and `of_chain` let only free blocks of slabs in, and their owner gave them to this list.
        self.head = unsafe { next(block) };
        Some(block)
    }

    /// Asks for the lines of the block that is taken next, `size` bytes: the worker that freed it may have written
    /// them, and the transfer then overlaps with what comes before that.
    #[inline(always)]
    pub(super) fn prefetch(&self, size: usize) {
        if let Some(block) = self.head {
            prefetch_for_write(block, size);
        }
    }
}

/// Blocks of one class and one home on their way there: a chain whose two ends are known.
#[derive(Debug, Default)]
pub(super) struct Batch {
    ends: Option<Chain>,
    len: usize,
}

/// The ends of a chain of free blocks that its holder owns. The last one's link means nothing until it is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) head: NonNull<u8>,
    tail: NonNull<u8>,
}

impl Chain {
    /// Lets `next` follow the last block.
    ///
    /// # Safety
    ///
    /// The caller still owns the chain.
    pub(super) unsafe fn continue_with(self, next: Link) {
        // SAFETY: `tail` is a free block of a slab, which the caller owns.
        unsafe { set_next(self.tail, next) };
    }
}

impl Batch {
    /// Adds a block; says how many there are now.
    ///
    /// # Safety
    ///
    /// `block` is the start of a free block of a slab, and the caller owns it.
    #[inline]
    pub(super) unsafe fn push(&mut self, block: NonNull<u8>) -> usize {
        let old = self.ends;
        // SAFETY: by the caller.
        unsafe { set_next(block, old.map(|chain| chain.head)) };
        self.ends = Some(Chain { head: block, tail: old.map_or(block, |chain| chain.tail) });
        self.len += 1;
        self.len
    }

    /// Takes the whole batch, and says how many blocks it has.
    pub(super) fn take(&mut self) -> Option<(Chain, usize)> {
        let chain = self.ends.take()?;
        Some((chain, mem::take(&mut self.len)))
    }
}
