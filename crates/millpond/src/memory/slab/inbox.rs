//! The inbox of a worker, for its blocks freed by other workers.
//!
//! It has one stack of chains for each class (R. K. Treiber, "Systems programming: coping with
//! parallelism", IBM, 1986). Any worker adds a chain by one compare-and-swap. Only the home takes
//! chains, and always the whole stack, by one swap. So a compare-and-swap that finds the old head
//! in place does not depend on the rest of the stack, and there is no ABA problem.
//!
//! Happens-before: the sender's accesses to a block, its links among them, come before its release
//! compare-and-swap. The home's acquire swap reads the newest of these compare-and-swaps. Each
//! later one continues the release sequence of the earlier ones. So the swap happens after all of
//! them.

use std::array;
use std::ptr::{self, NonNull};

use super::super::class::CLASSES;
use super::list::{Chain, FreeList};
use crate::sync::atomic::AtomicPtr;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The blocks that came home to one worker, by class.
#[derive(Debug)]
pub(super) struct Inbox {
    heads: [AtomicPtr<u8>; CLASSES],
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox { heads: array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }

    /// Sends a chain home.
    ///
    /// # Safety
    ///
    /// The caller owns the chain, and gives it away with this call. Its blocks are of `class` and
    /// from the slab of this inbox's worker.
    pub(super) unsafe fn send(&self, class: usize, chain: Chain) {
        let inbox = &self.heads[class];
        // Usually the inbox is empty.
        let mut head = ptr::null_mut();
        loop {
            // SAFETY: by the caller, this thread owns the chain until the compare-and-swap
            // succeeds.
            unsafe { chain.continue_with(NonNull::new(head)) };
            match inbox.compare_exchange_weak(head, chain.head.as_ptr(), Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all blocks of `class` that have come home. Loads before it swaps: usually there is
    /// none, and a load does not take the line away.
    pub(super) fn take(&self, class: usize) -> FreeList {
        let inbox = &self.heads[class];
        if inbox.load(Relaxed).is_null() {
            return FreeList::default();
        }
        let head = NonNull::new(inbox.swap(ptr::null_mut(), Acquire));
        // SAFETY: `send` takes only whole chains, which their owners give away. The swap gives them
        // to this thread alone.
        unsafe { FreeList::of_chain(head) }
    }
}
