//! Where blocks freed on other workers come home.
//!
//! One stack of chains for each class (R. K. Treiber, "Systems programming: coping with parallelism", IBM, 1986).
//! Anybody adds a chain by one compare-and-swap; only the home takes, and it takes everything by one swap. Since
//! nobody takes a single block, a compare-and-swap that finds the old head in place needs to know nothing about what
//! is behind it: the ABA problem does not arise.
//!
//! Happens-before: the sender's accesses to a block, its links among them, come before its release compare-and-swap.
//! The home's acquire swap reads the newest of them, and so is after all: each later one continues the release
//! sequence of the earlier.

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
    /// The caller owns the chain, whose blocks are of `class` and from the slab of this inbox's worker; with this call
    /// it gives them away.
    pub(super) unsafe fn send(&self, class: usize, chain: Chain) {
        let inbox = &self.heads[class];
        // Most often the home has taken what was there.
        let mut head = ptr::null_mut();
        loop {
            // SAFETY: until the compare-and-swap succeeds the chain is ours, by the caller.
            unsafe { chain.continue_with(NonNull::new(head)) };
            match inbox.compare_exchange_weak(head, chain.head.as_ptr(), Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Everything that has come home in `class`. Looks before it swaps: the usual answer is nothing, and a load leaves
    /// the line where it is.
    pub(super) fn take(&self, class: usize) -> FreeList {
        let inbox = &self.heads[class];
        if inbox.load(Relaxed).is_null() {
            return FreeList::default();
        }
        let head = NonNull::new(inbox.swap(ptr::null_mut(), Acquire));
        // SAFETY: `send` takes only whole chains, given away by their owners; the swap gives them to us alone.
        unsafe { FreeList::of_chain(head) }
    }
}
