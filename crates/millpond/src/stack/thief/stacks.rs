//! All stacks of a runtime: stacks in use, where thieves find victims, and free stacks, which wait
//! for a scope.
//!
//! A mutex protects the free stacks. The list of all stacks needs no mutex: it only grows, and its
//! entries live as long as the runtime.
//!
//! - A1. A thread that makes a stack links it to the entry that it saw as the youngest. Then it
//!   makes the new stack the youngest entry by a compare-and-swap, release. If another thread was
//!   quicker, it tries again.
//! - A2. Then it counts the stack, release.
//! - A3. A thief loads the count, acquire, and draws a place. Then it goes through the list from
//!   its youngest entry on, acquire. The list has at least as many entries as were counted.

use std::ptr::NonNull;

use crate::stack::layout::frames::Frames;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Stacks {
    /// All stacks that were ever made, the youngest first. They live as long as this list.
    all: AtomicPtr<Entry>,
    count: AtomicUsize,
    free: Mutex<Vec<NonNull<Frames>>>,
    /// Whether a worker is the sentinel (`search`, W2).
    is_watched: AtomicBool,
}

// SAFETY: threads share the entries by design, and `free` has a lock.
unsafe impl Send for Stacks {}
// SAFETY: as above.
unsafe impl Sync for Stacks {}

#[derive(Debug)]
struct Entry {
    frames: Frames,
    next: *mut Entry,
}

impl Stacks {
    /// Takes an empty stack, and makes the caller its owner.
    pub(crate) fn take(&self) -> NonNull<Frames> {
        let free = self.free.lock().pop();
        let frames = free.unwrap_or_else(|| self.make());
        // SAFETY: entries live as long as this list.
        unsafe { frames.as_ref() }.enter();
        frames
    }

    #[cold]
    fn make(&self) -> NonNull<Frames> {
        let entry = Box::leak(Box::new(Entry { frames: Frames::new(), next: std::ptr::null_mut() }));
        let frames = NonNull::from(&entry.frames);
        let mut next = self.all.load(Ordering::Relaxed);
        loop {
            entry.next = next;
            match self.all.compare_exchange(next, entry, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => next = now,
            }
        }
        self.count.fetch_add(1, Ordering::Release);
        frames
    }

    /// Takes an empty stack back from the caller, its owner.
    pub(crate) fn put_back(&self, frames: NonNull<Frames>) {
        // SAFETY: entries live as long as this list.
        let this = unsafe { frames.as_ref() };
        this.shrink();
        this.leave();
        self.free.lock().push(frames);
    }

    /// The number of stacks.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// All stacks, the youngest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Frames> {
        let mut next = self.all.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: entries live as long as this list.
            let entry = unsafe { next.as_ref() }?;
            next = entry.next;
            Some(&entry.frames)
        })
    }

    /// Makes the caller the sentinel, before it sleeps. Returns false if there is a sentinel
    /// already.
    pub(in crate::stack) fn watch(&self) -> bool {
        self.is_watched.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Ends the caller's time as the sentinel.
    pub(in crate::stack) fn stop_watching(&self) {
        self.is_watched.store(false, Ordering::Relaxed);
    }

    pub(in crate::stack) fn are_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Whether some stack may hold a task that no worker runs.
    pub(crate) fn may_have_work(&self) -> bool {
        self.iter().any(Frames::may_have_work)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut next = self.all.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: `make` leaked the entry, and no thread uses it any more.
            let entry = unsafe { Box::from_raw(next) };
            next = entry.next;
        }
    }
}
