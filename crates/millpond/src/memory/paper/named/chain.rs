//! Chains of free nodes: free lists, and parts of them on their way from one to another.
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

/// Where a node's link is, in bytes.
pub(super) const LINK: usize = size_of::<u64>();

/// How many nodes go from one place to another together.
pub(super) const BATCH: usize = 32;

/// Nodes that are the holder's alone, last in, first out.
#[derive(Debug, Default)]
pub(super) struct Chain {
    head: Link,
    len: usize,
}

// SAFETY: its nodes are the holder's, whatever thread that is.
unsafe impl Send for Chain {}

impl Chain {
    /// Adds a node.
    ///
    /// # Safety
    ///
    /// At `node` there are 16 bytes or more, aligned to 8, which are the chain's from now on, until it gives them back.
    #[inline]
    pub(super) unsafe fn push(&mut self, node: NonNull<u8>) {
        // SAFETY: inside the node.
        let link = unsafe { node.byte_add(LINK) }.cast::<Link>();
        poison::permit(link.cast(), size_of::<Link>());
        // SAFETY: aligned, and the chain's.
        unsafe { link.write(self.head) };
        poison::forbid(link.cast(), size_of::<Link>());
        self.head = Some(node);
        self.len += 1;
    }

    /// The node that was added last.
    #[inline]
    pub(super) fn pop(&mut self) -> Link {
        let node = self.head?;
        // SAFETY: inside the node.
        let link = unsafe { node.byte_add(LINK) }.cast::<Link>();
        poison::permit(link.cast(), size_of::<Link>());
        // SAFETY: written when the node was added, and the chain's since.
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

/// Nodes at one place, of which what is too much goes elsewhere in batches: so that a batch is found without a scan, one
/// is kept apart, full or empty.
#[derive(Debug, Default)]
pub(super) struct Stock {
    top: Chain,
    reserve: Chain,
}

impl Stock {
    /// Adds a node, however many there are.
    ///
    /// # Safety
    ///
    /// As for [`Chain::push`].
    #[inline]
    pub(super) unsafe fn push(&mut self, node: NonNull<u8>) {
        // SAFETY: the caller's.
        unsafe { self.top.push(node) };
    }

    /// Adds a node; a batch if there are too many now.
    ///
    /// # Safety
    ///
    /// As for [`Chain::push`].
    #[inline]
    pub(super) unsafe fn push_bounded(&mut self, node: NonNull<u8>) -> Option<Chain> {
        // SAFETY: the caller's.
        unsafe { self.top.push(node) };
        if self.top.len < BATCH {
            return None;
        }
        let full = mem::replace(&mut self.reserve, mem::take(&mut self.top));
        (!full.is_empty()).then_some(full)
    }

    /// The node that was added last.
    #[inline]
    pub(super) fn pop(&mut self) -> Link {
        self.top.pop().or_else(|| {
            mem::swap(&mut self.top, &mut self.reserve);
            self.top.pop()
        })
    }

    /// Goes on with a batch from elsewhere, being empty.
    pub(super) fn restock(&mut self, batch: Chain) {
        debug_assert!(self.top.is_empty() && self.reserve.is_empty());
        self.top = batch;
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.top.len + self.reserve.len
    }

    /// All nodes, as up to two chains.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Chain> + use<> {
        [mem::take(&mut self.top), mem::take(&mut self.reserve)].into_iter().filter(|chain| !chain.is_empty())
    }
}
