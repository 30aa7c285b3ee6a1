//! Chains of free nodes: free lists, and parts moved from one free list to another.
//!
//! ```text
//!      0              8          16
//!     +--------------+----------+------- … -----+
//!     |   last use   |   next   |   last use    |     a free block
//!     +--------------+----------+------- … -----+
//!     |    block     |   next   |                     an item
//!     +--------------+----------+
//! ```

use std::mem;
use std::ptr::NonNull;

use crate::memory::poison;

/// A node, or the end of a chain.
pub(super) type Link = Option<NonNull<u8>>;

/// The offset of the link in a node, in bytes.
pub(super) const LINK: usize = size_of::<u64>();

/// The number of nodes that move from one place to another together.
pub(super) const BATCH: usize = 32;

/// Nodes that only the holder uses, last in, first out.
#[derive(Debug, Default)]
pub(super) struct Chain {
    head: Link,
    len: usize,
}

// SAFETY: its nodes belong to its holder, on any thread.
unsafe impl Send for Chain {}

impl Chain {
    /// Adds a node.
    ///
    /// # Safety
    ///
    /// At `node` there are at least 16 bytes, aligned to 8. They belong to the chain from now on,
    /// until it gives them back.
    #[inline]
    pub(super) unsafe fn push(&mut self, node: NonNull<u8>) {
        // SAFETY: the offset is inside the node.
        let link = unsafe { node.byte_add(LINK) }.cast::<Link>();
        poison::permit(link.cast(), size_of::<Link>());
        // SAFETY: aligned, and owned by the chain.
        unsafe { link.write(self.head) };
        poison::forbid(link.cast(), size_of::<Link>());
        self.head = Some(node);
        self.len += 1;
    }

    /// Takes the node that was added last.
    #[inline]
    pub(super) fn pop(&mut self) -> Link {
        let node = self.head?;
        // SAFETY: the offset is inside the node.
        let link = unsafe { node.byte_add(LINK) }.cast::<Link>();
        poison::permit(link.cast(), size_of::<Link>());
        // SAFETY: `push` wrote the link, and the chain has owned it since.
        self.head = unsafe { link.read() };
        self.len -= 1;
        Some(node)
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_none()
    }
}

/// The nodes at one place. If there are too many, a batch of them goes elsewhere. The stock keeps
/// one batch separate, full or empty, so that it finds a batch without a scan.
#[derive(Debug, Default)]
pub(super) struct Stock {
    top: Chain,
    reserve: Chain,
}

impl Stock {
    /// Adds a node, without a limit.
    ///
    /// # Safety
    ///
    /// As for [`Chain::push`].
    #[inline]
    pub(super) unsafe fn push(&mut self, node: NonNull<u8>) {
        // SAFETY: by the caller.
        unsafe { self.top.push(node) };
    }

    /// Adds a node. Returns a batch if there are too many nodes now.
    ///
    /// # Safety
    ///
    /// As for [`Chain::push`].
    #[inline]
    pub(super) unsafe fn push_bounded(&mut self, node: NonNull<u8>) -> Option<Chain> {
        // SAFETY: by the caller.
        unsafe { self.top.push(node) };
        if self.top.len < BATCH {
            return None;
        }
        let full = mem::replace(&mut self.reserve, mem::take(&mut self.top));
        (!full.is_empty()).then_some(full)
    }

    /// Takes the node that was added last.
    #[inline]
    pub(super) fn pop(&mut self) -> Link {
        self.top.pop().or_else(|| {
            mem::swap(&mut self.top, &mut self.reserve);
            self.top.pop()
        })
    }

    /// Continues with a batch from elsewhere. The stock must be empty.
    pub(super) fn restock(&mut self, batch: Chain) {
        debug_assert!(self.top.is_empty() && self.reserve.is_empty());
        self.top = batch;
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.top.len + self.reserve.len
    }

    /// Takes all nodes, as up to two chains.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Chain> + use<> {
        [mem::take(&mut self.top), mem::take(&mut self.reserve)].into_iter().filter(|chain| !chain.is_empty())
    }
}
