//! Where free generations are kept.
//!
//! A version has one embedded and needs more only when accesses wait. Those come from a store of the process, not of a
//! runtime: a handle keeps its youngest one between scopes, and may outlive the runtime that gave it. A worker takes and
//! gives through a store of its own, which exchanges batches with that of the process; memory goes back to nobody.
//!
//! A store is a list of addresses beside the generations, not a chain through them: who gives one back does not touch
//! it, and who takes one knows in time which comes next, and asks for its line. Both would wait for another processor.

use std::ptr::NonNull;

use super::generation::Generation;
use crate::sync::{global, prefetch_for_write};

/// Generations that are handed from store to store together.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };
/// Batches whose memory comes from the system together: 48 KiB, so that what it adds is nothing beside.
const BATCHES: usize = 32;
/// Who takes a generation asks for the one that will be taken so many later.
const AHEAD: usize = 2;

/// Generations that nobody knows, those that were given last at the end.
#[derive(Debug)]
struct Free(Vec<NonNull<Generation>>);

// SAFETY: free generations are their holder's alone.
unsafe impl Send for Free {}

/// The store of the process.
static STORE: global::Mutex<Store> = global::Mutex::new(Store { free: Free(Vec::new()), uncut: &[] });

struct Store {
    free: Free,
    /// What is left of the newest memory.
    uncut: &'static [Generation],
}

// SAFETY: what is not cut yet is the store's alone.
unsafe impl Send for Store {}

impl Store {
    /// Moves a batch, or the rest of one, to `free`.
    fn fill(&mut self, free: &mut Free) {
        let Free(kept) = &mut self.free;
        if !kept.is_empty() {
            return free.0.extend(kept.drain(kept.len().saturating_sub(BATCH)..));
        }
        if self.uncut.is_empty() {
            self.uncut = fresh(BATCHES * BATCH);
        }
        let (batch, uncut) = self.uncut.split_at(BATCH);
        self.uncut = uncut;
        free.0.extend(batch.iter().rev().map(NonNull::from));
    }
}

/// Gives a generation back, on any thread.
#[cold]
pub(super) fn give_back(generation: NonNull<Generation>) {
    if cfg!(loom) {
        // SAFETY: as in `Local::give`.
        return unsafe { generation.as_ref() }.end_model();
    }
    STORE.lock().free.0.push(generation);
}

/// What a worker keeps of free generations: two batches at most.
#[derive(Debug)]
pub struct Local(Free);

impl Default for Local {
    fn default() -> Self {
        Local(Free(Vec::with_capacity(2 * BATCH)))
    }
}

impl Local {
    /// A generation that nobody knows; what it says means nothing.
    #[inline]
    pub(super) fn take(&mut self) -> NonNull<Generation> {
        // What a model has made cannot be used in the next.
        if cfg!(loom) {
            return NonNull::from(&fresh(1)[0]);
        }
        if self.0.0.is_empty() {
            self.refill();
        }
        let Free(free) = &mut self.0;
        let taken = free.pop().expect("a batch is not empty");
        if let Some(ahead) = free.len().checked_sub(AHEAD) {
            prefetch_for_write(free[ahead].cast(), 1);
        }
        taken
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        STORE.lock().fill(&mut self.0);
    }

    /// Gives back a generation that nobody knows any more.
    #[inline]
    pub(super) fn give(&mut self, generation: NonNull<Generation>) {
        if cfg!(loom) {
            // SAFETY: nobody knows it; here loom finds who does.
            return unsafe { generation.as_ref() }.end_model();
        }
        if self.0.0.len() == 2 * BATCH {
            self.pass_on();
        }
        self.0.0.push(generation);
    }

    #[cold]
    #[inline(never)]
    fn pass_on(&mut self) {
        STORE.lock().free.0.extend(self.0.0.drain(..BATCH));
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        STORE.lock().free.0.append(&mut self.0.0);
    }
}

/// New ones, in memory of their own.
fn fresh(count: usize) -> &'static [Generation] {
    Box::leak((0..count).map(|_| Generation::default()).collect())
}
