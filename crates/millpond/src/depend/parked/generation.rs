//! A generation: consecutive accesses that do not conflict among themselves.

use std::ptr::{self, NonNull};

use crate::sync::tracked::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::tracked::{AtomicPtr, AtomicU64};
use crate::sync::{Guarded, prefetch_for_write};
use crate::task::Record;

/// One generation of a version: its members are the accesses that were issued to it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Generation {
    /// Null, a chain of records parked here, `DONE` or `RETIRED`.
    word: AtomicPtr<Record>,
    /// Members that were not released, once it is closed; see the protocol, 2. Counts all that there ever were, so 64 bits.
    pub(super) left: AtomicU64,
    /// The generation before, until it is given back.
    before: Guarded<Link>,
}

pub(super) type Link = Option<NonNull<Generation>>;

/// All members were released. No record has this address, nor the next.
fn done() -> *mut Record {
    ptr::without_provenance_mut(1)
}

/// No generation comes after this one, and who ends it has the version.
fn retired() -> *mut Record {
    ptr::without_provenance_mut(2)
}

/// What the exchange of a generation that is the last of its version finds.
pub(super) struct Retired;

impl Generation {
    /// A new generation behind `before`. Nobody else knows it.
    #[inline]
    pub(super) fn begin(&self, before: Link) {
        self.word.store(ptr::null_mut(), Relaxed);
        self.left.store(0, Relaxed);
        self.before.set(before);
    }

    /// The generation before, for members that were not released and for the issuer, while there is one.
    #[inline]
    pub(super) fn before(&self) -> Option<&Generation> {
        // SAFETY: it is given back by who ends this one, which nobody does before all members were released; and the
        // issuer asks only while this one is open, or just made.
        self.before.get().map(|before| unsafe { before.as_ref() })
    }

    /// For who ends the generation: that before it, to be given back.
    #[inline]
    pub(super) fn take_before(&self) -> Link {
        self.before.take()
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.word.load(Acquire) == done()
    }

    /// Parks an access here; false if the generation is done.
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

    /// Asks the processor for the generation, and for the task that is parked here, which the end of it will wake: mostly
    /// its issuer has written both last, on another processor.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_for_write(NonNull::from(self).cast(), size_of::<Self>());
        let parked = self.word.load(Relaxed);
        if parked.addr() > retired().addr() {
            NonNull::new(parked).into_iter().for_each(Record::prefetch_task);
        }
    }

    /// Ends a generation at which nobody can be parked; by the issuer.
    #[inline]
    pub(super) fn set_done(&self) {
        self.word.store(done(), Relaxed);
    }

    /// Ends the generation: what is parked here. It is not the caller's any more, unless it was the version's last.
    #[inline]
    pub(super) fn end(&self) -> Result<Option<NonNull<Record>>, Retired> {
        let found = self.word.swap(done(), AcqRel);
        if found == retired() { Err(Retired) } else { Ok(NonNull::new(found)) }
    }

    /// A model's sign that the memory is used for something else: it looks as a generation that somebody has begun anew,
    /// so that a task that parks too late is lost, and a count that comes too late is wrong. Nothing outside of models.
    pub(super) fn end_model(&self) {
        #[cfg(loom)]
        {
            // SAFETY: loom fails the model if somebody else writes the word without an order between the two.
            unsafe { self.word.unsync_load() };
            self.begin(None);
        }
    }

    /// Marks an open generation as the last of its version, before it is closed.
    pub(super) fn retire_open(&self) {
        self.word.store(retired(), Relaxed);
    }

    /// Marks a closed generation as the last of its version; false if it is done.
    pub(super) fn retire(&self) -> bool {
        self.word.compare_exchange(ptr::null_mut(), retired(), AcqRel, Acquire).is_ok()
    }
}
