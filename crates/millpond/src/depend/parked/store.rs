//! Where free generations are kept.
//!
//! A version has one embedded and needs more only when accesses wait. Those come from a store of the process, not of a
//! runtime: a handle keeps its youngest one between scopes, and may outlive the runtime that gave it. A worker takes and
//! gives through a store of its own, which exchanges batches with that of the process; memory goes back to nobody.

use std::mem;
use std::ptr::NonNull;

use super::generation::{Generation, Link};
use crate::sync::global;

/// Generations that are handed from store to store together.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };
/// Batches whose memory comes from the system together: 48 KiB, so that what it adds is nothing beside.
const BATCHES: usize = 32;

/// A chain of free generations, linked by `before`.
#[derive(Debug, Default)]
struct Chain {
    first: Link,
    len: usize,
}

// SAFETY: free generations are their holder's alone.
unsafe impl Send for Chain {}

impl Chain {
    fn of(fresh: &'static [Generation]) -> Self {
        let mut chain = Chain::default();
        fresh.iter().rev().for_each(|generation| chain.push(generation.into()));
        chain
    }

    #[inline]
    fn push(&mut self, generation: NonNull<Generation>) {
        // SAFETY: free, and the caller's until now.
        unsafe { generation.as_ref() }.before.set(self.first);
        self.first = Some(generation);
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Link {
        let first = self.first?;
        // SAFETY: free, and this chain's.
        self.first = unsafe { first.as_ref() }.before.get();
        self.len -= 1;
        Some(first)
    }
}

/// The store of the process: full batches, single ones, and what is left of the newest memory.
static STORE: global::Mutex<Store> = global::Mutex::new(Store::new());

struct Store {
    batches: Vec<Chain>,
    single: Chain,
    uncut: &'static [Generation],
}

// SAFETY: what is not cut yet is the store's alone.
unsafe impl Send for Store {}

impl Store {
    const fn new() -> Self {
        Store { batches: Vec::new(), single: Chain { first: None, len: 0 }, uncut: &[] }
    }

    /// A full batch.
    fn take(&mut self) -> Chain {
        self.batches.pop().unwrap_or_else(|| {
            if self.uncut.is_empty() {
                self.uncut = fresh(BATCHES * BATCH);
            }
            let (batch, uncut) = self.uncut.split_at(BATCH);
            self.uncut = uncut;
            Chain::of(batch)
        })
    }

    fn give(&mut self, mut chain: Chain) {
        if chain.len == BATCH {
            return self.batches.push(chain);
        }
        while let Some(generation) = chain.pop() {
            self.give_one(generation);
        }
    }

    fn give_one(&mut self, generation: NonNull<Generation>) {
        self.single.push(generation);
        if self.single.len == BATCH {
            self.batches.push(mem::take(&mut self.single));
        }
    }
}

/// Gives a generation back, on any thread.
#[cold]
pub(super) fn give_back(generation: NonNull<Generation>) {
    if cfg!(loom) {
        // SAFETY: as in `Local::give`.
        return unsafe { generation.as_ref() }.end_model();
    }
    STORE.lock().give_one(generation);
}

/// What a worker keeps of free generations: two batches at most.
#[derive(Debug, Default)]
pub struct Local {
    free: Chain,
    spare: Chain,
}

impl Local {
    /// A generation that nobody knows; what it says means nothing.
    #[inline]
    pub(super) fn take(&mut self) -> NonNull<Generation> {
        // What a model has made cannot be used in the next.
        if cfg!(loom) {
            return Chain::of(fresh(1)).pop().expect("just made");
        }
        match self.free.pop() {
            Some(generation) => generation,
            None => self.refill(),
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> NonNull<Generation> {
        self.free = mem::take(&mut self.spare);
        if self.free.len == 0 {
            self.free = STORE.lock().take();
        }
        self.free.pop().expect("a batch is not empty")
    }

    /// Gives back a generation that nobody knows any more.
    #[inline]
    pub(super) fn give(&mut self, generation: NonNull<Generation>) {
        if cfg!(loom) {
            // SAFETY: nobody knows it; here loom finds who does.
            return unsafe { generation.as_ref() }.end_model();
        }
        self.free.push(generation);
        if self.free.len == BATCH {
            self.pass_on();
        }
    }

    #[cold]
    #[inline(never)]
    fn pass_on(&mut self) {
        let full = mem::replace(&mut self.spare, mem::take(&mut self.free));
        if full.len > 0 {
            STORE.lock().give(full);
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let mut store = STORE.lock();
        store.give(mem::take(&mut self.free));
        store.give(mem::take(&mut self.spare));
    }
}

/// New ones, in memory of their own.
fn fresh(count: usize) -> &'static [Generation] {
    Box::leak((0..count).map(|_| Generation::default()).collect())
}
