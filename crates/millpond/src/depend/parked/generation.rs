//! A generation: consecutive accesses that do not conflict with each other.

use std::ptr::{self, NonNull};

use crate::sync::tracked::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::tracked::{AtomicPtr, AtomicU64};
use crate::sync::{Guarded, prefetch_for_write};
use crate::task::Record;

/// One generation of a version. Its members are the accesses issued to it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Generation {
    /// Null, a chain of records parked here, `DONE` or `RETIRED`.
    word: AtomicPtr<Record>,
    /// The number of unreleased members, once it is closed (protocol 2). It counts every member
    /// ever issued, so it has 64 bits.
    pub(super) left: AtomicU64,
    /// The preceding generation, until it is given back.
    before: Guarded<Link>,
}

pub(super) type Link = Option<NonNull<Generation>>;

/// All members were released. No record has this address, or the next.
fn done() -> *mut Record {
    ptr::without_provenance_mut(1)
}

/// No generation follows this one. The thread that ends it owns the version.
fn retired() -> *mut Record {
    ptr::without_provenance_mut(2)
}

/// The result of the exchange if the generation is the last of its version.
pub(super) struct Retired;

impl Generation {
    /// Makes a new generation after `before`. No other thread knows it.
    #[inline]
    pub(super) fn begin(&self, before: Link) {
        self.word.store(ptr::null_mut(), Relaxed);
        self.left.store(0, Relaxed);
        self.before.set(before);
    }

    /// The preceding generation, if there is one. Only for unreleased members and for the issuer.
    #[inline]
    pub(super) fn before(&self) -> Option<&Generation> {
        // SAFETY: the thread that ends this generation gives it back, but not before all members
        // were released. The issuer calls this only while this generation is open, or just made.
        self.before.get().map(|before| unsafe { before.as_ref() })
    }

    /// Takes the preceding generation, to be given back. Only for the thread that ends this
    /// generation.
    #[inline]
    pub(super) fn take_before(&self) -> Link {
        self.before.take()
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.word.load(Acquire) == done()
    }

    /// Parks an access here. Returns false if the generation is done.
    #[inline]
    pub(super) fn park(&self, record: &Record) -> bool {
        let mut top = self.word.load(Acquire);
        while top != done() {
            record.set_link(top.cast());
            match self.word.compare_exchange_weak(top, ptr::from_ref(record).cast_mut(), Release, Acquire) {
                Ok(_) => return true,
                Err(now) => top = now,
            }
        }
        false
    }

    /// Prefetches the generation, and the parked task that its end will wake. Usually the issuer
    /// wrote both last, on another processor.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_for_write(NonNull::from(self).cast(), size_of::<Self>());
        let parked = self.word.load(Relaxed);
        if parked.addr() > retired().addr() {
            NonNull::new(parked).into_iter().for_each(Record::prefetch_task);
        }
    }

    /// Ends a generation at which no task can be parked. Only for the issuer.
    #[inline]
    pub(super) fn set_done(&self) {
        self.word.store(done(), Relaxed);
    }

    /// Ends the generation and returns the records parked here. The caller no longer owns the
    /// generation, unless it was the version's last.
    #[inline]
    pub(super) fn end(&self) -> Result<Option<NonNull<Record>>, Retired> {
        let found = self.word.swap(done(), AcqRel);
        if found == retired() { Err(Retired) } else { Ok(NonNull::new(found)) }
    }

    /// Tells a model that the memory is reused: the generation looks like one that another thread
    /// has begun. So a task that parks too late is lost, and a late count is wrong. Does nothing
    /// outside of models.
    pub(super) fn end_model(&self) {
        #[cfg(loom)]
        {
            // SAFETY: loom fails the model if another thread writes the word without an order
            // between the two.
            unsafe { self.word.unsync_load() };
            self.begin(None);
        }
    }

    /// Marks an open generation as the last of its version, before it is closed.
    pub(super) fn retire_open(&self) {
        self.word.store(retired(), Relaxed);
    }

    /// Marks a closed generation as the last of its version. Returns false if it is done.
    pub(super) fn retire(&self) -> bool {
        self.word.compare_exchange(ptr::null_mut(), retired(), AcqRel, Acquire).is_ok()
    }
}
