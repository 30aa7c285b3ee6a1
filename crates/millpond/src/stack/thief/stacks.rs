//! All stacks of a runtime: those in use, among which thieves look for victims, and those that wait for a scope.
//!
//! The latter lie behind a mutex. The list of all only grows, and its entries stay as long as the runtime, so that it needs none:
//!
//! - A1. who makes a stack links it to what it has seen as the youngest entry, and makes it that by a compare-and-swap, release; if
//!   another one was quicker, again;
//! - A2. then counts it, release;
//! - A3. a thief loads the count, acquire, draws a place, and goes through the list from its youngest entry on, acquire: there are
//!   as many as were counted, or more.

use std::ptr::NonNull;

use crate::stack::layout::frames::Frames;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Stacks {
    /// All that were ever made, the youngest first; they live as long as this.
    all: AtomicPtr<Entry>,
    count: AtomicUsize,
    free: Mutex<Vec<NonNull<Frames>>>,
    /// Whether some worker sleeps for a while only (`thief`, W2).
    is_watched: AtomicBool,
}

// SAFETY: the entries are shared by design; `free` is locked.
unsafe impl Send for Stacks {}
// SAFETY: as above.
unsafe impl Sync for Stacks {}

#[derive(Debug)]
struct Entry {
    frames: Frames,
    next: *mut Entry,
}

impl Stacks {
    /// An empty stack, which the caller owns.
    pub(crate) fn take(&self) -> NonNull<Frames> {
        let free = self.free.lock().pop();
        let frames = free.unwrap_or_else(|| self.make());
        // SAFETY: entries live as long as this.
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

    /// Takes an empty stack back, of which the caller is the owner.
    pub(crate) fn put_back(&self, frames: NonNull<Frames>) {
        // SAFETY: entries live as long as this.
        let this = unsafe { frames.as_ref() };
        this.shrink();
        this.leave();
        self.free.lock().push(frames);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// All of them, the youngest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Frames> {
        let mut next = self.all.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: entries live as long as this.
            let entry = unsafe { next.as_ref() }?;
            next = entry.next;
            Some(&entry.frames)
        })
    }

    /// The caller becomes the sentinel, before it sleeps; false if somebody is.
    pub(in crate::stack) fn watch(&self) -> bool {
        self.is_watched.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The sentinel is none any more.
    pub(in crate::stack) fn stop_watching(&self) {
        self.is_watched.store(false, Ordering::Relaxed);
    }

    pub(in crate::stack) fn are_watched(&self) -> bool {
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Whether some stack holds a task that nobody runs.
    pub(crate) fn may_have_work(&self) -> bool {
        self.iter().any(Frames::may_have_work)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut next = self.all.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: `make` leaked it, and nobody uses it any more.
            let entry = unsafe { Box::from_raw(next) };
            next = entry.next;
        }
    }
}
