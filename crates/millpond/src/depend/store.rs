//! Where a scheme keeps what it needs beside versions and records: generations, nodes of lists.
//!
//! They come from a store of the process, not of a runtime: a handle keeps its youngest generation between scopes, and
//! may outlive the runtime that gave it. A worker takes and gives through a store of its own, which exchanges batches with
//! that of the process; memory goes back to nobody.
//!
//! A store is a list of addresses beside the things, not a chain through them: who gives one back does not touch it, and
//! who takes one knows in time which comes next, and asks for its line. Both would wait for another processor.

use std::ptr::NonNull;

use crate::sync::{global, prefetch_for_write};

/// Things that are handed from store to store together.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };
/// Batches whose memory comes from the system together: 48 KiB, so that what it adds is nothing beside.
const BATCHES: usize = 32;
/// Who takes a thing asks for the one that will be taken so many later.
const AHEAD: usize = 2;

/// What is kept.
pub trait Kept: Default + 'static {
    /// The store of the process for things of this type: a static.
    fn store() -> &'static Store<Self>;

    /// A model's sign that the memory is used for something else. Nothing outside of models.
    fn end_model(&self);
}

/// Things that nobody knows, those that were given last at the end.
#[derive(Debug)]
struct Free<T>(Vec<NonNull<T>>);

// SAFETY: free things are their holder's alone, and hold nothing of a thread's.
unsafe impl<T> Send for Free<T> {}

/// A store of the process.
pub struct Store<T: 'static>(global::Mutex<Stock<T>>);

struct Stock<T: 'static> {
    free: Free<T>,
    /// What is left of the newest memory.
    uncut: &'static [T],
}

// SAFETY: what is not cut yet is the stock's alone.
unsafe impl<T> Send for Stock<T> {}

impl<T> Store<T> {
    pub(super) const fn new() -> Self {
        Store(global::Mutex::new(Stock { free: Free(Vec::new()), uncut: &[] }))
    }
}

/// Takes the lock of a store, for a fork.
pub(crate) fn take_lock<T: Kept>() -> Box<dyn std::any::Any> {
    Box::new(T::store().0.lock())
}

impl<T: Kept> Stock<T> {
    /// Moves a batch, or the rest of one, to `free`.
    fn fill(&mut self, free: &mut Free<T>) {
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

/// Gives a thing back, on any thread.
#[cold]
pub(super) fn give_back<T: Kept>(thing: NonNull<T>) {
    if cfg!(loom) {
        // SAFETY: as in `Local::give`.
        return unsafe { thing.as_ref() }.end_model();
    }
    T::store().0.lock().free.0.push(thing);
}

/// What a worker keeps of free things: two batches at most.
#[derive(Debug)]
pub struct Local<T: Kept>(Free<T>);

impl<T: Kept> Default for Local<T> {
    fn default() -> Self {
        Local(Free(Vec::with_capacity(2 * BATCH)))
    }
}

impl<T: Kept> Local<T> {
    /// A thing that nobody knows; what it says means nothing.
    #[inline]
    pub(super) fn take(&mut self) -> NonNull<T> {
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
        T::store().0.lock().fill(&mut self.0);
    }

    /// Gives back a thing that nobody knows any more.
    #[inline]
    pub(super) fn give(&mut self, thing: NonNull<T>) {
        if cfg!(loom) {
            // SAFETY: nobody knows it; here loom finds who does.
            return unsafe { thing.as_ref() }.end_model();
        }
        if self.0.0.len() == 2 * BATCH {
            self.pass_on();
        }
        self.0.0.push(thing);
    }

    #[cold]
    #[inline(never)]
    fn pass_on(&mut self) {
        T::store().0.lock().free.0.extend(self.0.0.drain(..BATCH));
    }
}

impl<T: Kept> Drop for Local<T> {
    fn drop(&mut self) {
        T::store().0.lock().free.0.append(&mut self.0.0);
    }
}

/// New ones, in memory of their own.
fn fresh<T: Kept>(count: usize) -> &'static [T] {
    Box::leak((0..count).map(|_| T::default()).collect())
}
