//! The store for a scheme's objects outside versions and records: generations, list nodes.
//!
//! The store belongs to the process, not to a runtime: a handle keeps its youngest generation
//! between scopes, and may outlive its runtime. A worker uses a local store, which exchanges
//! batches with the process's store. Memory never goes back to the system.
//!
//! A store is a separate list of addresses, not a chain through the objects. So a thread that gives
//! an object back does not touch it, and a thread that takes one knows the next ones and prefetches
//! them. In a chain, both would wait for another processor's cache line.

use std::ptr::NonNull;

use crate::sync::{global, prefetch_for_write};

/// The number of objects moved between stores at once.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };
/// The number of batches allocated at once: 48 KiB, so that the allocation's overhead is small.
const BATCHES: usize = 32;
/// A thread that takes an object prefetches the object that it takes this many later.
const PREFETCH_DISTANCE: usize = 2;

/// An object that a store keeps.
pub trait Kept: Default + 'static {
    /// The process's store for objects of this type: a static.
    fn store() -> &'static Store<Self>;

    /// Tells a model that the memory is reused. Does nothing outside of models.
    fn end_model(&self);
}

/// Free objects, the most recently freed at the end. No thread uses them.
#[derive(Debug)]
struct Free<T>(Vec<NonNull<T>>);

// SAFETY: free objects belong to their holder alone, and hold no data of a thread.
unsafe impl<T> Send for Free<T> {}

/// The process's store for objects of one type.
pub struct Store<T: 'static>(global::Mutex<Stock<T>>);

struct Stock<T: 'static> {
    free: Free<T>,
    /// The unused rest of the newest allocation.
    uncut: &'static [T],
}

// SAFETY: the unused rest belongs to the stock alone.
unsafe impl<T> Send for Stock<T> {}

impl<T> Store<T> {
    pub(super) const fn new() -> Self {
        Store(global::Mutex::new(Stock { free: Free(Vec::new()), uncut: &[] }))
    }
}

/// Takes the lock of a store for a fork.
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

/// Gives an object back, on any thread.
#[cold]
pub(super) fn give_back<T: Kept>(thing: NonNull<T>) {
    if cfg!(loom) {
        // SAFETY: as in `Local::give`.
        return unsafe { thing.as_ref() }.end_model();
    }
    T::store().0.lock().free.0.push(thing);
}

/// The free objects of a worker: at most two batches.
#[derive(Debug)]
pub struct Local<T: Kept>(Free<T>);

impl<T: Kept> Default for Local<T> {
    fn default() -> Self {
        Local(Free(Vec::with_capacity(2 * BATCH)))
    }
}

impl<T: Kept> Local<T> {
    /// Takes an object that no other thread uses. Its contents are arbitrary.
    #[inline]
    pub(super) fn take(&mut self) -> NonNull<T> {
        // A model cannot use objects of an earlier model.
        if cfg!(loom) {
            return NonNull::from(&fresh(1)[0]);
        }
        if self.0.0.is_empty() {
            self.refill();
        }
        let Free(free) = &mut self.0;
        let taken = free.pop().expect("a batch is not empty");
        if let Some(ahead) = free.len().checked_sub(PREFETCH_DISTANCE) {
            prefetch_for_write(free[ahead].cast(), 1);
        }
        taken
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        T::store().0.lock().fill(&mut self.0);
    }

    /// Gives back an object that no other thread uses.
    #[inline]
    pub(super) fn give(&mut self, thing: NonNull<T>) {
        if cfg!(loom) {
            // SAFETY: no other thread uses it. If one does, loom finds it here.
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

/// Allocates new objects.
fn fresh<T: Kept>(count: usize) -> &'static [T] {
    Box::leak((0..count).map(|_| T::default()).collect())
}
